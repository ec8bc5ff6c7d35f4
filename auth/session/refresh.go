package session

import (
	"context"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
)

// Replayed is the error of a refresh token that was used before. Its session has been
// ended: either the client or a thief has an older token than it should (RFC 9700,
// section 4.14.2). Unwrap returns message.InvalidGrant.
type Replayed struct {
	error
	// User is the id of the user.
	User string
}

func (r Replayed) Unwrap() error { return r.error }

// Refresh is the refresh_token grant: the token is used up and replaced. Within
// Config.Reuse after that, it is replaced by the same token again, on any server and
// after any crash; later, it ends its session. With a network, the user must have a
// role in it; a token that is refused for lack of one is not used up.
func (s *Service) Refresh(ctx context.Context, token, network string) (*Tokens, error) {
	used, g, err := s.find(ctx, token)
	if err != nil {
		return nil, err
	}
	if used.Revision == 0 {
		return nil, message.InvalidGrant.Error(nil)
	}
	if s.late(used) {
		return nil, s.replay(ctx, g)
	}
	if g.Session == "" { // of a version without sessions
		g.Session = store.NewID()
	}
	err = s.store.Read(store.Latest(ctx), func(r store.Snapshot) error { return g.check(ctx, r, network) })
	if err != nil {
		return nil, store.Translate(err)
	}
	successor, late := s.secret.successor(token), false
	err = s.store.Write(ctx, func(tx store.Tx) error {
		late, err = s.rotate(ctx, tx, used.Key, hash(successor), &g)
		return err
	})
	switch {
	case err != nil:
		return nil, store.Translate(err)
	case late:
		return nil, s.replay(ctx, g)
	}
	return s.issue(ctx, g, successor)
}

// find returns a refresh token that has not expired. The revision of the record is 0 if
// there is none.
func (s *Service) find(ctx context.Context, token string) (record store.Record, g grant, err error) {
	err = s.store.Read(store.Latest(ctx), func(r store.Snapshot) (err error) {
		g = grant{}
		record, err = store.ReadOne(ctx, r, refreshCollection, store.Key{ID: hash(token)}, &g)
		return err
	})
	if !s.now().Before(g.Expires) {
		record.Revision = 0
	}
	return record, g, store.Translate(err)
}

// rotate uses up a refresh token and stores its successor, of which it has the hash,
// unless another request has done so already; late reports whether that was too long ago.
func (s *Service) rotate(ctx context.Context, tx store.Tx, key store.Key, successor string, g *grant) (late bool, err error) {
	var stored grant
	used, err := store.ReadOne(ctx, tx, refreshCollection, key, &stored)
	if err != nil {
		return false, err
	}
	if used.Revision == 0 {
		return false, message.InvalidGrant.Error(nil)
	}
	if stored.Session != "" {
		g.Session = stored.Session
	}
	found, err := readState(ctx, tx, g.User, g.Session)
	if err != nil {
		return false, err
	}
	if found.ended || found.epoch != g.Epoch {
		return false, message.InvalidGrant.Error(nil)
	}
	if used.State == "ACTIVE" {
		stored.Session = g.Session
		*g = stored
		if err := g.refreshed(s.now().UTC().Truncate(time.Millisecond)); err != nil {
			return false, err
		}
		stored.Next = successor
		if err := store.PutInternal(ctx, tx, refreshCollection, used, "INACTIVE", stored, s.now()); err != nil {
			return false, err
		}
		g.Expires = s.expiry()
		return false, store.PutInternal(ctx, tx, refreshCollection, store.Record{Key: store.Key{ID: successor}}, "ACTIVE", g, s.now())
	}
	if s.late(used) {
		return true, nil
	}
	next, err := store.ReadOne(ctx, tx, refreshCollection, store.Key{ID: successor}, nil)
	if err == nil && next.Revision == 0 { // made with another secret, by a process without a sealer
		err = message.InvalidGrant.Error(nil)
	}
	return false, err
}

// late reports whether a refresh token was used up too long ago to be sent again. The
// clock of the server that has used it up may be ahead.
func (s *Service) late(r store.Record) bool {
	return r.State != "ACTIVE" && s.now().Sub(r.UpdateTime) >= s.config.Reuse
}

// replay ends the session of a refresh token that was sent again too late.
func (s *Service) replay(ctx context.Context, g grant) error {
	if g.Session != "" {
		if err := s.end(ctx, g.Session); err != nil {
			return store.Translate(err)
		}
	}
	return Replayed{message.InvalidGrant.Error(nil), g.User}
}
