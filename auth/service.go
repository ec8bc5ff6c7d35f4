// Package auth signs users in and decides what they can see and change. It joins the
// packages below it, and implements rest's Authenticator and the engine's hooks with
// them. It imports engine, rest, catalog, document, message, query, schema and store.
// Begin with Service.
package auth

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"marquee/auth/apitoken"
	"marquee/auth/password"
	"marquee/auth/rights"
	"marquee/auth/session"
	"marquee/auth/signing"
	"marquee/engine"
	"marquee/engine/event"
	"marquee/engine/store"
)

// Lifetimes are how long tokens and keys are valid.
type Lifetimes struct {
	// Access and Refresh are those of the tokens.
	Access, Refresh time.Duration
	// Reuse is the time in which a refresh token that was used can be sent again and is
	// replaced by the same token. With 0, it ends its session at once.
	Reuse time.Duration
	// Key is the time for which a key signs access tokens before the next one does; 0 means
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
	// when a new one begins; 0 means session.DefaultMax.
	MaxSessions int
	// Networks bounds in how many networks a user has roles.
	Networks rights.NetworkLimits
	// PublicURL is the URL of the service in its metadata, without a slash at its end; ""
	// means that of the request.
	PublicURL string
	// BuiltIn are the permissions that roles can hold whatever the schemas declare. A role
	// of scope NETWORK with all of them has every permission.
	BuiltIn []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service signs users in, and finds the callers of access tokens and API tokens.
type Service struct {
	// Sessions signs users in, and Keys signs their access tokens.
	Sessions *session.Service
	Keys     *signing.Keys
	// Tokens are the API tokens.
	Tokens *apitoken.Tokens

	config  Config
	callers *rights.Callers
	rules   rights.Rules
	signIns signIns
}

// Collections returns the collections that the store must have for this package.
func Collections() []store.Collection {
	return slices.Concat(password.Collections(), signing.Collections(), session.Collections(), apitoken.Collections())
}

// New returns a Service, and creates the signing keys if the store has none.
func New(ctx context.Context, c Config) (*Service, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if err := c.Passwords.Check(); err != nil {
		return nil, err
	}
	keys, err := signing.Open(ctx, signing.Config{Store: c.Store, Sealer: c.Sealer, Access: c.Lifetimes.Access, Rotation: c.Lifetimes.Key, Now: c.Now})
	if err != nil {
		return nil, err
	}
	callers, attempts := rights.NewCallers(c.Store, c.BuiltIn), password.NewAttempts(c.Store, c.SignIns, c.Now)
	sessions, err := session.Open(ctx, session.Config{Store: c.Store, Sealer: c.Sealer, Callers: callers, Keys: keys, Attempts: attempts,
		Access: c.Lifetimes.Access, Refresh: c.Lifetimes.Refresh, Reuse: c.Lifetimes.Reuse, Max: c.MaxSessions, Now: c.Now})
	return &Service{Sessions: sessions, Keys: keys, Tokens: apitoken.New(c.Store, c.BuiltIn, c.Now), config: c, callers: callers,
		rules: rights.Rules{Store: c.Store, Passwords: c.Passwords, Attempts: attempts, Networks: c.Networks, BuiltIn: c.BuiltIn}}, err
}

// Hooks returns the rules of users, roles, tokens, teams and networks.
func (s *Service) Hooks() map[string]engine.Hooks {
	hooks := s.rules.Hooks()
	maps.Copy(hooks, apitoken.Hooks())
	return hooks
}

// Caller returns the caller of an access token, or of an API token. An error is
// of kind Unauthenticated, or comes from the store.
func (s *Service) Caller(ctx context.Context, token string) (*engine.Caller, error) {
	if apitoken.Is(token) {
		return s.Tokens.Caller(ctx, token)
	}
	return s.Sessions.Caller(ctx, token)
}

// Member returns a user with the user's rights, or nil if there is no ACTIVE user with
// the id.
func (s *Service) Member(ctx context.Context, user string) (*engine.Caller, error) {
	m, err := s.callers.Find(ctx, user)
	if err != nil || m == nil {
		return nil, store.Translate(err)
	}
	return m.Caller, nil
}

// Maintain rotates the signing keys when their time has come, drops what has expired,
// and stores the uses of API tokens that Uses.Record could not store. Every server of a
// store may call it.
func (s *Service) Maintain(ctx context.Context, log *slog.Logger) error {
	rotated, err := s.Keys.Maintain(ctx)
	if err != nil {
		return err
	}
	if rotated {
		log.LogAttrs(ctx, slog.LevelInfo, "the signing keys were rotated by the schedule", event.SigningKeyRotated.Attr())
	}
	return errors.Join(s.Sessions.Sweep(ctx), s.Tokens.Sweep(ctx), s.Tokens.Uses.Store(ctx))
}
