// Package session signs users in with passwords, and refreshes and ends their sessions. It
// imports cache, expiry, password, rights and signing of auth, engine, message, query and
// store. Begin with Service.SignIn.
package session

import (
	"cmp"
	"context"
	"time"

	"marquee/auth/cache"
	"marquee/auth/password"
	"marquee/auth/rights"
	"marquee/auth/signing"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Config is what a Service needs.
type Config struct {
	Store store.Store
	// Sealer encrypts the secret that refresh tokens are derived with. Without one, no
	// refresh token can be sent again after a restart.
	Sealer   engine.Sealer
	Callers  *rights.Callers
	Keys     *signing.Keys
	Attempts *password.Attempts
	// Access and Refresh are the lifetimes of the tokens.
	Access, Refresh time.Duration
	// Reuse is the time in which a refresh token that was used can be sent again.
	Reuse time.Duration
	// Max is the maximum number of sessions of a user, beyond which the oldest ends when a
	// new one begins; 0 means DefaultMax.
	Max int
	Now func() time.Time
}

// Service signs users in, and finds the callers of access tokens.
type Service struct {
	config Config
	store  store.Store
	now    func() time.Time
	states *cache.Values[sessionKey, state]
	secret secret
}

// Collections returns the collections that the store must have for this package.
func Collections() []store.Collection {
	return []store.Collection{{Name: refreshCollection}, {Name: sessionCollection}, {Name: secretCollection}, {Name: userSessionCollection}}
}

// Open returns a Service.
func Open(ctx context.Context, c Config) (*Service, error) {
	c.Max = cmp.Or(c.Max, DefaultMax)
	secret, err := openSecret(ctx, c.Store, c.Sealer, c.Now())
	return &Service{config: c, store: c.Store, now: c.Now, secret: secret,
		states: cache.New[sessionKey, state](c.Store, nil, sessionCollection)}, err
}

// Stats are those of the cache of sessions.
func (s *Service) Stats() cache.Stats { return s.states.Stats() }

// Caller returns the caller of an access token. An error is of kind Unauthenticated, or
// comes from the store.
func (s *Service) Caller(ctx context.Context, token string) (*engine.Caller, error) {
	c, err := s.config.Keys.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	m, err := s.config.Callers.Find(ctx, c.User)
	if err != nil {
		return nil, store.Translate(err)
	}
	if m == nil || m.Credential != c.Credential {
		return nil, message.TokenInvalid.Error(nil)
	}
	found, err := s.states.Find(ctx, sessionKey{c.User, c.Session}, func(r store.Snapshot) (state, bool, error) {
		found, err := readState(ctx, r, c.User, c.Session)
		return found, true, err
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	if found.ended || found.epoch != c.Epoch {
		return nil, message.TokenInvalid.Error(nil)
	}
	return m.Caller, nil
}
