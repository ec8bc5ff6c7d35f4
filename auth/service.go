// Package auth signs users in and decides what they can see and change. It joins the
// packages below it, and implements rest's Authenticator and the engine's hooks with
// them. It imports engine, rest, catalog, document, message, query, schema and store.
// Begin with Service.
package auth

import (
	"context"
	"errors"
	"time"

	"marquee/auth/password"
	"marquee/auth/signing"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Lifetimes are how long tokens and keys are valid.
type Lifetimes struct {
	// Access and Refresh are those of the tokens.
	Access, Refresh time.Duration
	// Reuse is how long a refresh token that was used can be sent again and is
	// replaced by the same token. With 0, it ends its session at once.
	Reuse time.Duration
	// Key is how long a key signs access tokens before the next one does; 0 means
	// until the operator rotates the keys.
	Key time.Duration
}

// DefaultLifetimes are the lifetimes of the interface decisions.
var DefaultLifetimes = Lifetimes{Access: time.Hour, Refresh: 30 * 24 * time.Hour, Reuse: 30 * time.Second, Key: 30 * 24 * time.Hour}

// Config is what a Service needs. Only Store and Lifetimes are required.
type Config struct {
	// Store has the collections of this package.
	Store store.Store
	// Sealer encrypts the keys that sign tokens. Without one, tokens end with the process.
	Sealer    engine.Sealer
	Lifetimes Lifetimes
	// Passwords is what passwords must satisfy when they are set.
	Passwords password.Policy
	// SignIns limits failed sign-ins.
	SignIns password.Limits
	// MaxSessions is the maximum number of sessions of a user, beyond which the oldest ends
	// when a new one begins; 0 means DefaultMaxSessions.
	MaxSessions int
	// Networks bounds in how many networks a user has roles.
	Networks NetworkLimits
	// PublicURL is the URL of the service in its metadata, without a slash at its end; ""
	// means that of the request.
	PublicURL string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service signs users in, and finds the callers of access tokens.
type Service struct {
	// Keys sign the access tokens.
	Keys *signing.Keys

	config    Config
	store     store.Store
	attempts  *password.Attempts
	callers   *callers
	sessions  *sessions
	apiTokens kept[string, *apiToken]
	uses      uses
	now       func() time.Time
	// secret is what refresh tokens are derived with.
	secret []byte
}

// New returns a Service, and creates the signing keys if the store has none.
func New(ctx context.Context, c Config) (*Service, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if err := c.Passwords.Check(); err != nil {
		return nil, err
	}
	s := &Service{config: c, store: c.Store, callers: newCallers(c.Store), sessions: newSessions(c.Store), now: c.Now,
		attempts: password.NewAttempts(c.Store, c.SignIns, c.Now)}
	s.apiTokens.store, s.apiTokens.collections = c.Store, []string{tokenType, tokenCollection, "users", "roles", "teams", "networks"}
	s.apiTokens.entries.Most = maxKept
	s.apiTokens.entries.Weigh = func(e entry[*apiToken]) int { return weightOf(e.value.caller) }
	s.uses.init()
	var err error
	s.Keys, err = signing.Open(ctx, signing.Config{Store: c.Store, Sealer: c.Sealer, Access: c.Lifetimes.Access, Rotation: c.Lifetimes.Key, Now: c.Now})
	if err != nil {
		return nil, err
	}
	return s, openSecret(ctx, c.Store, c.Sealer, s)
}

// Caller returns the caller of an access token, or of an API token. An error is
// of kind Unauthenticated, or comes from the store.
func (s *Service) Caller(ctx context.Context, token string) (*engine.Caller, error) {
	if isAPIToken(token) {
		return s.apiCaller(ctx, token)
	}
	c, err := s.Keys.Verify(ctx, token)
	if err != nil {
		return nil, err
	}
	m, err := s.callers.find(ctx, c.User)
	if err != nil {
		return nil, store.Translate(err)
	}
	if m == nil || m.credential != c.Credential {
		return nil, message.TokenInvalid.Error(nil)
	}
	session, err := s.sessions.find(ctx, c.User, c.Session)
	if err != nil {
		return nil, store.Translate(err)
	}
	if session.ended || session.epoch != c.Epoch {
		return nil, message.TokenInvalid.Error(nil)
	}
	return m.caller, nil
}

// Member returns a user with the user's rights, or nil if there is no ACTIVE user with
// the id.
func (s *Service) Member(ctx context.Context, user string) (*engine.Caller, error) {
	m, err := s.callers.find(ctx, user)
	if err != nil || m == nil {
		return nil, store.Translate(err)
	}
	return m.caller, nil
}

// Maintain rotates the signing keys when their time has come, drops what has expired,
// and stores the uses of API tokens that RecordUses could not
// store. Every server of a store may call it.
func (s *Service) Maintain(ctx context.Context) error {
	if err := s.Keys.Maintain(ctx); err != nil {
		return err
	}
	return errors.Join(s.Sweep(ctx), s.storeUses(ctx))
}
