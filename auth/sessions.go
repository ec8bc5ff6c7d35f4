package auth

import (
	"context"
	"encoding/json"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// A session begins with a password and consists of the access tokens and refresh
// tokens that follow from it, which name it: the family of RFC 9700, section 4.14.2.
//
// The session collection has a record for each session that was ended, in the state
// INACTIVE (or stateForgotten) until all of its tokens have expired; and a record for
// each user whose sessions were all ended, whose revision tokens must have been issued
// for.

// userPrefix distinguishes the ids of users from those of sessions.
const userPrefix = "user:"

// session is what the store says about a session.
type session struct {
	ended bool
	// epoch is the number of times that all sessions of the user were ended.
	epoch int64
}

type sessionKey struct{ user, id string }

// sessions finds out whether sessions were ended.
type sessions struct{ kept kept[sessionKey, session] }

func newSessions(s store.Store) *sessions {
	c := &sessions{kept[sessionKey, session]{store: s, collections: []string{sessionCollection}}}
	c.kept.entries.Most = maxKept
	return c
}

func (c *sessions) find(ctx context.Context, user, id string) (session, error) {
	return c.kept.find(ctx, sessionKey{user, id}, func(s store.Snapshot) (session, bool, error) {
		found, err := readSession(ctx, s, user, id)
		return found, true, err
	})
}

func readSession(ctx context.Context, s store.Snapshot, user, id string) (session, error) {
	var found session
	keys := []store.Key{{ID: userPrefix + user}}
	if id != "" {
		keys = append(keys, store.Key{ID: id})
	}
	err := s.Get(ctx, sessionCollection, keys, func(r *store.Record) error {
		if r.ID == id {
			found.ended = true
		} else {
			found.epoch = r.Revision
		}
		return nil
	})
	return found, err
}

// EndSessions ends all sessions of a user: no access token or refresh token that was
// issued before is accepted any more, here at once and on other servers of the store
// within a second. The user can sign in again. An error is of kind NotFound if there
// is no such user, or of the store.
func (s *Service) EndSessions(ctx context.Context, user string) error {
	err := s.store.Write(ctx, func(tx store.Tx) error {
		exists := false
		err := tx.Get(ctx, "users", []store.Key{{ID: user}}, func(*store.Record) error {
			exists = true
			return nil
		})
		if err != nil {
			return err
		}
		if !exists {
			return message.ObjectNotFound.Error(message.Params{"type": "users", "id": user})
		}
		return s.putSession(ctx, tx, userPrefix+user, "ACTIVE")
	})
	return store.Translate(err)
}

// endSession ends one session.
func (s *Service) endSession(ctx context.Context, id string) error {
	return s.store.Write(ctx, func(tx store.Tx) error { return s.putSession(ctx, tx, id, "INACTIVE") })
}

func (s *Service) putSession(ctx context.Context, tx store.Tx, id, state string) error {
	was := store.Record{Key: store.Key{ID: id}}
	err := tx.Get(ctx, sessionCollection, []store.Key{was.Key}, func(r *store.Record) error {
		was = *r
		return nil
	})
	if err != nil || was.Revision > 0 && state == "INACTIVE" { // it has ended already
		return err
	}
	return tx.Put(ctx, sessionCollection, []store.Write{store.InternalWrite(was, state, []byte("{}"), s.now())})
}

// logout ends all sessions of a user, on behalf of that user or of whoever may set the
// user's password.
func (s *Service) logout(r *rest.Call) error {
	if err := r.Only(); err != nil {
		return err
	}
	if _, err := r.ReadBody(1 << 10); err != nil {
		return err
	}
	id := r.PathValue("id")
	if !r.Caller().Is(id) && !r.Caller().Operator {
		if err := s.mayEndSessions(r.Context(), r.Caller(), id, r.Engine()); err != nil {
			return err
		}
	}
	if err := s.EndSessions(r.Context(), id); err != nil {
		return err
	}
	return r.NoContent()
}

// mayEndSessions returns an error unless a caller may set a user's password. A user
// who is hidden from the caller does not exist.
func (s *Service) mayEndSessions(ctx context.Context, caller *engine.Caller, id string, e *engine.Engine) error {
	managed, visible := false, false
	err := s.store.Read(ctx, func(r store.Snapshot) error {
		managed, visible = false, false
		user, err := storedUser(ctx, r, id)
		if err != nil || user == nil {
			return err
		}
		managed, err = manageable(caller, user, func(network, id string) (*roleDocument, error) {
			return storedRole(ctx, r, network, id)
		})
		if err != nil {
			return err
		}
		users, _ := e.Registry().Type("users")
		n, err := r.Count(ctx, query.Query{Collection: "users", Where: query.And{
			query.Compare{Field: byID, Op: query.Equal, Value: id}, e.Access.Visible(caller, users, "")}})
		visible = n > 0
		return err
	})
	switch {
	case err != nil:
		return store.Translate(err)
	case !visible:
		return message.ObjectNotFound.Error(message.Params{"type": "users", "id": id})
	case !managed:
		return message.UserNotManaged.Error(message.Params{"type": "users", "objectId": id})
	}
	return nil
}

// Revoke ends the session of a refresh token or an access token (RFC 7009). A token
// that is not valid needs no revocation, and is no error.
func (s *Service) Revoke(ctx context.Context, token string) error {
	id := ""
	if c, err := s.Keys.Verify(ctx, token); err == nil {
		id = c.Session
	} else if !message.TokenInvalid.Is(err) {
		return err
	} else {
		record, grant, err := s.findRefresh(ctx, token)
		if err != nil || record == nil {
			return err
		}
		if id = grant.Session; id == "" {
			return s.dropRefresh(ctx, record.Key)
		}
	}
	return store.Translate(s.endSession(ctx, id))
}

// dropRefresh makes a refresh token unknown that names no session: it was issued by an
// earlier version.
func (s *Service) dropRefresh(ctx context.Context, key store.Key) error {
	return store.Translate(s.store.Write(ctx, func(tx store.Tx) error {
		return tx.Drop(ctx, refreshCollection, []store.Key{key})
	}))
}

// findRefresh returns the record of a refresh token that has not expired, or nil.
func (s *Service) findRefresh(ctx context.Context, token string) (record *store.Record, grant refreshDocument, err error) {
	err = s.store.Read(store.Latest(ctx), func(r store.Snapshot) error {
		record, grant, err = readRefresh(ctx, r, hashToken(token))
		return err
	})
	if err != nil {
		return nil, grant, store.Translate(err)
	}
	if record != nil && !s.now().Before(grant.Expires) {
		record = nil
	}
	return record, grant, nil
}

// readRefresh returns a refresh token by its hash, or nil.
func readRefresh(ctx context.Context, s store.Snapshot, hash string) (record *store.Record, grant refreshDocument, err error) {
	err = s.Get(ctx, refreshCollection, []store.Key{{ID: hash}}, func(r *store.Record) error {
		found := *r
		found.Document = append([]byte(nil), r.Document...)
		record = &found
		return json.Unmarshal(r.Document, &grant)
	})
	return record, grant, err
}
