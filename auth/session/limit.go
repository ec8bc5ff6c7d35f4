package session

import (
	"context"
	"slices"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
)

// The sessions of a user are bounded in number, so that sign-ins without end do not
// fill the store: beyond the limit, the oldest session ends when a new one begins. The
// record of a user in userSessionCollection lists the sessions since this limit exists.
// A session that leaves that list, for any reason, leaves no refresh token behind.

// DefaultMax is the maximum number of sessions of a user.
const DefaultMax = 100

const userSessionCollection = "auth_user_sessions"

// stateForgotten is that of a session that has ended and whose refresh tokens have been
// deleted: only its access tokens must still be refused.
const stateForgotten = "HIDDEN"

const (
	// maxForgetting bounds the sessions whose refresh tokens are still to be deleted.
	maxForgetting = 1000
	// forgetRound is the maximum number of refresh tokens that one transaction deletes.
	forgetRound = 50
)

// userSessions is a record of the collection.
type userSessions struct {
	// Credential and Epoch are those that the live sessions began with.
	Credential int64 `json:"credential"`
	Epoch      int64 `json:"epoch"`
	// Live are the sessions that have not been ended, or not been found to be, in the
	// order in which they began.
	Live []userSession `json:"live,omitempty"`
	// Forgetting are sessions that have ended.
	Forgetting []userSession `json:"forgetting,omitempty"`
}

type userSession struct {
	ID string `json:"id"`
	// Token is the hash of the session's first refresh token that may be stored.
	Token string `json:"token"`
}

func readUserSessions(ctx context.Context, r store.Snapshot, user string) (record store.Record, found userSessions, err error) {
	record, err = store.ReadOne(ctx, r, userSessionCollection, store.Key{ID: user}, &found)
	return record, found, err
}

func (u userSessions) put(ctx context.Context, tx store.Tx, record store.Record, now time.Time) error {
	return store.PutInternal(ctx, tx, userSessionCollection, record, "ACTIVE", u, now)
}

// addSession adds a session to those of its user, and ends the oldest ones beyond the
// limit. It reports whether there are sessions whose refresh tokens can be deleted.
func addSession(ctx context.Context, tx store.Tx, g grant, token string, limit int, now time.Time) (forget bool, err error) {
	record, sessions, err := readUserSessions(ctx, tx, g.User)
	if err != nil {
		return false, err
	}
	if g.Credential < sessions.Credential || g.Epoch < sessions.Epoch { // all were ended meanwhile
		return false, message.InvalidGrant.Error(nil)
	}
	if sessions.Credential != g.Credential || sessions.Epoch != g.Epoch { // all have been ended
		sessions.Forgetting = append(sessions.Forgetting, sessions.Live...)
		sessions.Credential, sessions.Epoch, sessions.Live = g.Credential, g.Epoch, nil
	}
	if len(sessions.Live) >= limit {
		if err := sessions.leaveOutEnded(ctx, tx); err != nil {
			return false, err
		}
	}
	if n := len(sessions.Live) - limit + 1; n > 0 {
		for _, oldest := range sessions.Live[:n] {
			if err := putState(ctx, tx, oldest.ID, "INACTIVE", now); err != nil {
				return false, err
			}
		}
		sessions.Forgetting = append(sessions.Forgetting, sessions.Live[:n]...)
		sessions.Live = sessions.Live[n:]
	}
	sessions.Live = append(sessions.Live, userSession{g.Session, hash(token)})
	if n := len(sessions.Forgetting) - maxForgetting; n > 0 {
		sessions.Forgetting = sessions.Forgetting[n:]
	}
	return len(sessions.Forgetting) > 0, sessions.put(ctx, tx, record, now)
}

// leaveOutEnded moves the sessions that were revoked from Live to Forgetting.
func (u *userSessions) leaveOutEnded(ctx context.Context, r store.Snapshot) error {
	keys := make([]store.Key, len(u.Live))
	for i, session := range u.Live {
		keys[i] = store.Key{ID: session.ID}
	}
	ended := map[string]bool{}
	err := r.Get(ctx, sessionCollection, keys, func(r *store.Record) error {
		ended[r.ID] = true
		return nil
	})
	u.Live = slices.DeleteFunc(u.Live, func(session userSession) bool {
		if ended[session.ID] {
			u.Forgetting = append(u.Forgetting, session)
		}
		return ended[session.ID]
	})
	return err
}

// forgetEnded deletes the refresh tokens of a user's sessions that have ended. What
// it does not reach, because the context ends or the process does, is left to the next
// sign-in.
func forgetEnded(ctx context.Context, s store.Store, user string, now time.Time) error {
	for {
		more := false
		err := s.Write(ctx, func(tx store.Tx) error {
			more = false
			record, sessions, err := readUserSessions(ctx, tx, user)
			if err != nil || len(sessions.Forgetting) == 0 {
				return err
			}
			if err := sessions.forgetRound(ctx, tx, now); err != nil {
				return err
			}
			more = len(sessions.Forgetting) > 0
			return sessions.put(ctx, tx, record, now)
		})
		if err != nil || !more {
			return err
		}
	}
}

// forgetRound deletes at most forgetRound refresh tokens.
func (u *userSessions) forgetRound(ctx context.Context, tx store.Tx, now time.Time) error {
	var drops []store.Key
	for left := forgetRound; left > 0 && len(u.Forgetting) > 0; left-- {
		session := &u.Forgetting[0]
		record, g, err := readGrant(ctx, tx, session.Token)
		if err != nil {
			return err
		}
		if record.Revision > 0 {
			drops = append(drops, record.Key)
		}
		if g.Next != "" {
			session.Token = g.Next
			continue
		}
		// With the last one, which has not been used, all are known to be deleted.
		// Otherwise, some of them had expired, and the others will.
		if record.State == "ACTIVE" {
			if err := forgetEnd(ctx, tx, session.ID, now); err != nil {
				return err
			}
		}
		u.Forgetting = u.Forgetting[1:]
	}
	if len(drops) == 0 {
		return nil
	}
	return tx.Drop(ctx, refreshCollection, drops)
}

// forgetEnd marks that the end of a session, if it has a record, need be known only
// until the access tokens of the session have expired.
func forgetEnd(ctx context.Context, tx store.Tx, id string, now time.Time) error {
	was, err := store.ReadOne(ctx, tx, sessionCollection, store.Key{ID: id}, nil)
	if err != nil || was.Revision == 0 || was.State == stateForgotten {
		return err
	}
	return store.PutInternal(ctx, tx, sessionCollection, was, stateForgotten, struct{}{}, now)
}
