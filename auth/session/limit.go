package session

import (
	"context"
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
	// maxForgotten is the maximum number of refresh tokens that one transaction deletes.
	maxForgotten = 50
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

// addSession adds a session, with the hash of its token, to those of its user, and ends the oldest ones beyond the
// limit, whose number it returns. It reports whether there are sessions whose refresh tokens can be deleted.
func addSession(ctx context.Context, tx store.Tx, g grant, token string, limit int, now time.Time) (ended int, forget bool, err error) {
	var sessions userSessions
	record, err := store.ReadOne(ctx, tx, userSessionCollection, store.Key{ID: g.User}, &sessions)
	if err != nil {
		return 0, false, err
	}
	if g.Credential < sessions.Credential || g.Epoch < sessions.Epoch { // all were ended meanwhile
		return 0, false, message.InvalidGrant.Error(nil)
	}
	if sessions.Credential != g.Credential || sessions.Epoch != g.Epoch { // all have been ended
		sessions.Forgetting = append(sessions.Forgetting, sessions.Live...)
		sessions.Credential, sessions.Epoch, sessions.Live = g.Credential, g.Epoch, nil
	}
	if len(sessions.Live) >= limit {
		keys, gone := make([]store.Key, len(sessions.Live)), map[string]bool{}
		for i, session := range sessions.Live {
			keys[i] = store.Key{ID: session.ID}
		}
		err := tx.Get(ctx, sessionCollection, keys, func(r *store.Record) error {
			gone[r.ID] = true
			return nil
		})
		if err != nil {
			return 0, false, err
		}
		for _, session := range sessions.makeRoom(limit, gone) {
			end := store.Record{Key: store.Key{ID: session.ID}}
			if err := store.PutInternal(ctx, tx, sessionCollection, end, "INACTIVE", struct{}{}, now); err != nil {
				return 0, false, err
			}
			ended++
		}
	}
	sessions.Live = append(sessions.Live, userSession{g.Session, token})
	if n := len(sessions.Forgetting) - maxForgetting; n > 0 {
		sessions.Forgetting = sessions.Forgetting[n:]
	}
	return ended, len(sessions.Forgetting) > 0, store.PutInternal(ctx, tx, userSessionCollection, record, "ACTIVE", sessions, now)
}

// makeRoom leaves fewer than limit sessions in Live. The others are in Forgetting: those
// that are gone, as they were revoked, and the oldest of the rest, which it returns.
func (u *userSessions) makeRoom(limit int, gone map[string]bool) (ends []userSession) {
	excess := len(u.Live) - len(gone) - limit + 1
	var live []userSession
	for _, session := range u.Live {
		switch {
		case gone[session.ID]:
		case len(ends) < excess:
			ends = append(ends, session)
		default:
			live = append(live, session)
			continue
		}
		u.Forgetting = append(u.Forgetting, session)
	}
	u.Live = live
	return ends
}

// forgetEnded deletes the refresh tokens of a user's sessions that have ended. What
// it does not reach, because the context ends or the process does, is left to the next
// sign-in.
func forgetEnded(ctx context.Context, s store.Store, user string, now time.Time) error {
	for more := true; more; {
		err := s.Write(ctx, func(tx store.Tx) (err error) {
			more, err = forgetRound(ctx, tx, user, now)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetRound deletes at most maxForgotten refresh tokens, and reports whether there are
// more.
func forgetRound(ctx context.Context, tx store.Tx, user string, now time.Time) (more bool, err error) {
	var u userSessions
	record, err := store.ReadOne(ctx, tx, userSessionCollection, store.Key{ID: user}, &u)
	if err != nil || len(u.Forgetting) == 0 {
		return false, err
	}
	var drops []store.Key
	for left := maxForgotten; left > 0 && len(u.Forgetting) > 0; left-- {
		session := &u.Forgetting[0]
		var g grant
		token, err := store.ReadOne(ctx, tx, refreshCollection, store.Key{ID: session.Token}, &g)
		if err != nil {
			return false, err
		}
		if token.Revision > 0 {
			drops = append(drops, token.Key)
		}
		if g.Next != "" {
			session.Token = g.Next
			continue
		}
		// With the last one, which has not been used, all are known to be deleted, and the
		// end of the session, if it has a record, need be known only until its access tokens
		// have expired. Otherwise, some of them had expired, and the others will.
		if token.State == "ACTIVE" {
			end, err := store.ReadOne(ctx, tx, sessionCollection, store.Key{ID: session.ID}, nil)
			if err == nil && end.Revision > 0 && end.State != stateForgotten {
				err = store.PutInternal(ctx, tx, sessionCollection, end, stateForgotten, struct{}{}, now)
			}
			if err != nil {
				return false, err
			}
		}
		u.Forgetting = u.Forgetting[1:]
	}
	if len(drops) > 0 {
		if err := store.Drop(ctx, tx, refreshCollection, drops); err != nil {
			return false, err
		}
	}
	return len(u.Forgetting) > 0, store.PutInternal(ctx, tx, userSessionCollection, record, "ACTIVE", u, now)
}
