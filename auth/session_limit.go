package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"marquee/engine/message"
	"marquee/engine/store"
)

// The sessions of a user are bounded in number, so that sign-ins without end do not
// fill the store: beyond the limit, the oldest session ends when a new one begins. The
// record of a user in userSessionCollection lists the sessions since this limit exists.
// A session that leaves that list, for any reason, leaves no refresh token behind.

// DefaultMaxSessions is how many sessions a user can have.
const DefaultMaxSessions = 100

const userSessionCollection = "auth_user_sessions"

// stateForgotten is that of a session that has ended and whose refresh tokens have been
// deleted: only its access tokens must still be refused.
const stateForgotten = "HIDDEN"

const (
	// maxForgetting bounds the sessions whose refresh tokens are still to be deleted.
	maxForgetting = 1000
	// forgetRound is how many refresh tokens one transaction deletes.
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

func (s *Service) maxSessions() int {
	return cmp.Or(s.config.MaxSessions, DefaultMaxSessions)
}

func readUserSessions(ctx context.Context, r store.Snapshot, user string) (record store.Record, found userSessions, err error) {
	record = store.Record{Key: store.Key{ID: user}}
	err = r.Get(ctx, userSessionCollection, []store.Key{record.Key}, func(r *store.Record) error {
		record.Revision, record.CreateTime = r.Revision, r.CreateTime
		found = userSessions{}
		return json.Unmarshal(r.Document, &found)
	})
	return record, found, err
}

func (s *Service) putUserSessions(ctx context.Context, tx store.Tx, record store.Record, sessions userSessions) error {
	content, err := json.Marshal(sessions)
	if err != nil {
		return err
	}
	return tx.Put(ctx, userSessionCollection, []store.Write{store.InternalWrite(record, "ACTIVE", content, s.now())})
}

// beginSession adds a session to those of its user, and ends the oldest ones beyond the
// limit. It reports whether there are sessions whose refresh tokens can be deleted.
func (s *Service) beginSession(ctx context.Context, tx store.Tx, grant refreshDocument, token string) (forget bool, err error) {
	record, sessions, err := readUserSessions(ctx, tx, grant.User)
	if err != nil {
		return false, err
	}
	if grant.Credential < sessions.Credential || grant.Epoch < sessions.Epoch { // all were ended meanwhile
		return false, message.InvalidGrant.Error(nil)
	}
	if sessions.Credential != grant.Credential || sessions.Epoch != grant.Epoch { // all have been ended
		sessions.Forgetting = append(sessions.Forgetting, sessions.Live...)
		sessions.Credential, sessions.Epoch, sessions.Live = grant.Credential, grant.Epoch, nil
	}
	if len(sessions.Live) >= s.maxSessions() {
		if err := sessions.leaveOutEnded(ctx, tx); err != nil {
			return false, err
		}
	}
	if n := len(sessions.Live) - s.maxSessions() + 1; n > 0 {
		for _, oldest := range sessions.Live[:n] {
			if err := s.putSession(ctx, tx, oldest.ID, "INACTIVE"); err != nil {
				return false, err
			}
		}
		sessions.Forgetting = append(sessions.Forgetting, sessions.Live[:n]...)
		sessions.Live = sessions.Live[n:]
	}
	sessions.Live = append(sessions.Live, userSession{grant.Session, hashToken(token)})
	if n := len(sessions.Forgetting) - maxForgetting; n > 0 {
		sessions.Forgetting = sessions.Forgetting[n:]
	}
	return len(sessions.Forgetting) > 0, s.putUserSessions(ctx, tx, record, sessions)
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

// forgetSessions deletes the refresh tokens of a user's sessions that have ended. What
// it does not reach, because the context ends or the process does, is left to the next
// sign-in.
func (s *Service) forgetSessions(ctx context.Context, user string) error {
	for {
		more := false
		err := s.store.Write(ctx, func(tx store.Tx) error {
			more = false
			record, sessions, err := readUserSessions(ctx, tx, user)
			if err != nil || len(sessions.Forgetting) == 0 {
				return err
			}
			if err := s.forgetRound(ctx, tx, &sessions); err != nil {
				return err
			}
			more = len(sessions.Forgetting) > 0
			return s.putUserSessions(ctx, tx, record, sessions)
		})
		if err != nil || !more {
			return err
		}
	}
}

// forgetRound deletes at most forgetRound refresh tokens.
func (s *Service) forgetRound(ctx context.Context, tx store.Tx, sessions *userSessions) error {
	var drops []store.Key
	for left := forgetRound; left > 0 && len(sessions.Forgetting) > 0; left-- {
		session := &sessions.Forgetting[0]
		record, grant, err := readRefresh(ctx, tx, session.Token)
		if err != nil {
			return err
		}
		if record != nil {
			drops = append(drops, record.Key)
		}
		if grant.Next != "" {
			session.Token = grant.Next
			continue
		}
		// With the last one, which has not been used, all are known to be deleted.
		// Otherwise, some of them had expired, and the others will.
		if record != nil && record.State == "ACTIVE" {
			if err := s.forgetEnd(ctx, tx, session.ID); err != nil {
				return err
			}
		}
		sessions.Forgetting = sessions.Forgetting[1:]
	}
	if len(drops) == 0 {
		return nil
	}
	return tx.Drop(ctx, refreshCollection, drops)
}

// forgetEnd marks that the end of a session, if it has a record, need be known only
// until the access tokens of the session have expired.
func (s *Service) forgetEnd(ctx context.Context, tx store.Tx, id string) error {
	var was store.Record
	err := tx.Get(ctx, sessionCollection, []store.Key{{ID: id}}, func(r *store.Record) error {
		was = *r
		return nil
	})
	if err != nil || was.Revision == 0 || was.State == stateForgotten {
		return err
	}
	return tx.Put(ctx, sessionCollection, []store.Write{store.InternalWrite(was, stateForgotten, []byte("{}"), s.now())})
}
