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
	g, hash := grant{Session: store.NewID()}, ""
	err = s.store.Read(store.Latest(ctx), func(r store.Snapshot) (err error) {
		if g.User, err = rights.UserNamed(ctx, r, username); err == nil {
			hash, g.Credential, err = attempt.Read(ctx, r, g.User)
		}
		return err
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	if err := attempt.Refused(); err != nil {
		return nil, err
	}
	right, err := password.Check(ctx, attempt.From, secret, hash)
	if err != nil {
		return nil, err
	}
	var tokens *Tokens
	if err = message.InvalidGrant.Error(nil); right {
		tokens, err = s.begin(ctx, attempt, g, network)
	}
	switch {
	case message.InvalidGrant.Is(err):
		if failed := attempt.Fail(ctx); failed != nil {
			return nil, failed
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	if password.Outdated(hash) {
		password.Raise(ctx, s.store, attempt.From, g.User, secret, hash)
	}
	return tokens, nil
}

// begin begins a session of an active user after an attempt with the right password.
// A new password invalidates the tokens.
func (s *Service) begin(ctx context.Context, a *password.Attempt, g grant, network string) (*Tokens, error) {
	err := s.store.Read(store.Latest(ctx), func(r store.Snapshot) error {
		found, err := readState(ctx, r, g.User, "")
		if err == nil {
			g.Epoch = found.epoch
			err = checkMember(ctx, r, g, network)
		}
		return err
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	refresh := newToken()
	ended := false
	err = s.store.Write(ctx, func(tx store.Tx) (err error) {
		if ended, err = addSession(ctx, tx, g, refresh, s.config.Max, s.now()); err != nil {
			return err
		}
		if err := a.Succeed(ctx, tx, g.User); err != nil {
			return err
		}
		return g.put(ctx, tx, refresh, s.now(), s.config.Refresh)
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	if ended {
		_ = forgetEnded(ctx, s.store, g.User, s.now()) // what is left is deleted at the next sign-in
	}
	return s.issue(ctx, g, refresh)
}
