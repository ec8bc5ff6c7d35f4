package session

import (
	"context"

	"marquee/auth/password"
	"marquee/auth/rights"
	"marquee/engine/message"
	"marquee/engine/store"
)

// SignIn is the password grant. With a network, the user must have a role in it.
// Every failure is message.InvalidGrant, which does not reveal the cause, and is
// counted: message.SignInsFailed if there were too many.
func (s *Service) SignIn(ctx context.Context, address, username, secret, network string) (*Tokens, error) {
	attempt, err := s.config.Attempts.SignIn(ctx, address, username)
	if err != nil {
		return nil, err
	}
	defer attempt.Leave()
	tokens, err := s.compare(ctx, attempt, username, secret, network)
	if message.InvalidGrant.Is(err) {
		if failed := attempt.Fail(ctx); failed != nil {
			return nil, failed
		}
	}
	return tokens, store.Translate(err)
}

// compare begins a session if the password is the user's.
func (s *Service) compare(ctx context.Context, attempt *password.Attempt, username, secret, network string) (*Tokens, error) {
	g, hash := grant{Session: store.NewID()}, ""
	read := func(r store.Snapshot) (err error) {
		if g.User, err = rights.UserNamed(ctx, r, username); err == nil {
			hash, g.Credential, err = attempt.Read(ctx, r, g.User)
		}
		return err
	}
	if err := s.store.Read(store.Latest(ctx), read); err != nil {
		return nil, err
	}
	right, err := password.Check(ctx, attempt.From, secret, hash)
	if err != nil {
		return nil, err
	}
	if !right {
		return nil, message.InvalidGrant.Error(nil)
	}
	tokens, err := s.begin(ctx, attempt, g, network)
	if err == nil && password.Outdated(hash) {
		password.Raise(ctx, s.store, attempt.From, g.User, secret, hash)
	}
	return tokens, err
}

// begin begins a session of an active user after an attempt with the right password.
// A new password invalidates the tokens.
func (s *Service) begin(ctx context.Context, a *password.Attempt, g grant, network string) (*Tokens, error) {
	err := s.store.Read(store.Latest(ctx), func(r store.Snapshot) error {
		found, err := readState(ctx, r, g.User, "")
		if err != nil {
			return err
		}
		g.Epoch = found.epoch
		return g.check(ctx, r, network)
	})
	if err != nil {
		return nil, err
	}
	refresh := newToken()
	tokens, err := s.issue(ctx, g, refresh)
	if err != nil {
		return nil, err
	}
	digest, forget := hash(refresh), false
	err = s.store.Write(ctx, func(tx store.Tx) (err error) {
		if err := a.Succeed(ctx, tx, g.User); err != nil {
			return err
		}
		g.Expires = s.expiry()
		if err := store.PutInternal(ctx, tx, refreshCollection, store.Record{Key: store.Key{ID: digest}}, "ACTIVE", g, s.now()); err != nil {
			return err
		}
		tokens.Ended, forget, err = addSession(ctx, tx, g, digest, s.config.Max, s.now())
		return err
	})
	if err != nil {
		return nil, err
	}
	if forget {
		_ = forgetEnded(ctx, s.store, g.User, s.now()) // what is left is deleted at the next sign-in
	}
	return tokens, nil
}
