package auth

import (
	"context"

	"marquee/auth/password"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Password is the password grant. With a network, the user must have a role in it.
// Every failure is message.InvalidGrant, which does not reveal the cause, and is
// counted: message.SignInsFailed if there were too many.
func (s *Service) Password(ctx context.Context, address, username, secret, network string) (*Tokens, error) {
	attempt, err := s.attempts.SignIn(ctx, address, username)
	if err != nil {
		return nil, err
	}
	defer attempt.Leave()
	grant, hash := refreshDocument{Session: store.NewID()}, ""
	err = s.store.Read(store.Latest(ctx), func(r store.Snapshot) (err error) {
		if grant.User, err = findUsername(ctx, r, username); err == nil {
			hash, grant.Credential, err = attempt.Read(ctx, r, grant.User)
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
		tokens, err = s.signIn(ctx, attempt, grant, network)
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
		password.Raise(ctx, s.store, attempt.From, grant.User, secret, hash)
	}
	return tokens, nil
}

// findUsername returns the id of the user with exactly this name, or else of the only
// user whose name has the same normal form, or "". Names from before normal forms were
// compared can share one.
func findUsername(ctx context.Context, r store.Snapshot, username string) (id string, err error) {
	exact := store.Claim{Collection: "users", Property: "username", Value: string(document.AppendString(nil, username))}
	shared := catalog.FormClaims("users", "", schema.UniqueForm{Property: "username", Form: schema.UsernameForm}, username)
	owners, err := r.Claims(ctx, append(shared, exact))
	if err != nil || owners[exact] != "" {
		return owners[exact], err
	}
	for _, claim := range shared {
		switch owner := owners[claim]; {
		case owner != "" && id != "":
			return "", nil
		case owner != "":
			id = owner
		}
	}
	return id, nil
}
