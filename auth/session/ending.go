package session

import (
	"context"

	"marquee/engine/message"
	"marquee/engine/store"
)

// EndAll ends all sessions of a user: no access token or refresh token that was
// issued before is accepted any more, here at once and on other servers of the store
// within a second. The user can sign in again. An error is of kind NotFound if there
// is no such user, or of the store.
func (s *Service) EndAll(ctx context.Context, user string) error {
	err := s.store.Write(ctx, func(tx store.Tx) error {
		found, err := store.ReadOne(ctx, tx, "users", store.Key{ID: user}, nil)
		if err != nil {
			return err
		}
		if found.Revision == 0 {
			return message.ObjectNotFound.Error(message.Params{"type": "users", "id": user})
		}
		return putState(ctx, tx, userPrefix+user, "ACTIVE", s.now())
	})
	return store.Translate(err)
}

// end ends one session.
func (s *Service) end(ctx context.Context, id string) error {
	return s.store.Write(ctx, func(tx store.Tx) error { return putState(ctx, tx, id, "INACTIVE", s.now()) })
}

// Revoke ends the session of a refresh token or an access token (RFC 7009), and returns the
// id of its user. A token that is not valid needs no revocation, and is no error.
func (s *Service) Revoke(ctx context.Context, token string) (user string, err error) {
	id := ""
	if c, err := s.config.Keys.Verify(ctx, token); err == nil {
		id, user = c.Session, c.User
	} else if !message.TokenInvalid.Is(err) {
		return "", err
	} else {
		record, g, err := s.find(ctx, token)
		if err != nil || record.Revision == 0 {
			return "", err
		}
		if id, user = g.Session, g.User; id == "" {
			// It was issued by a version without sessions.
			return user, store.Translate(s.store.Write(ctx, func(tx store.Tx) error {
				return store.Drop(ctx, tx, refreshCollection, []store.Key{record.Key})
			}))
		}
	}
	return user, store.Translate(s.end(ctx, id))
}
