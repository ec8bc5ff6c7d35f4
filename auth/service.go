// Package auth signs users in and decides what they can see and change: passwords,
// tokens, roles and visibility. It implements the engine's Access, Sealer and hooks,
// and rest's Authenticator. It imports engine, rest, catalog, document, message, query,
// schema and store. Begin with Service.
package auth

import (
	"context"
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"

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
	// until RotateKeys is called.
	Key time.Duration
}

// DefaultLifetimes are the lifetimes of the interface decisions.
var DefaultLifetimes = Lifetimes{Access: time.Hour, Refresh: 30 * 24 * time.Hour, Reuse: 30 * time.Second, Key: 30 * 24 * time.Hour}

// clockSkew is by how much the clocks of the servers of a store may differ.
const clockSkew = time.Minute

// Service signs users in, and finds the callers of access tokens.
type Service struct {
	// Passwords may be set until the service is used.
	Passwords PasswordPolicy
	// SignIns may be set until the service is used.
	SignIns SignInLimits
	// MaxSessions is how many sessions a user can have, beyond which the oldest ends
	// when a new one begins; 0 means DefaultMaxSessions. It may be set until the service
	// is used.
	MaxSessions int
	// Networks may be set until the service is used.
	Networks NetworkLimits
	// PublicURL is the URL of the service in its metadata, without a slash at its end; ""
	// means that of the request. It may be set until the service is used.
	PublicURL string

	store     store.Store
	keys      *keyRing
	callers   *callers
	sessions  *sessions
	apiTokens kept[string, *apiToken]
	uses      uses
	verified  verified
	lifetimes Lifetimes
	signIns   lines
	now       func() time.Time
	parser    *jwt.Parser
	// secret is what refresh tokens are derived with.
	secret []byte
}

// NewService returns a Service on a store that has the collections of this package,
// and creates the signing keys if there are none. A nil now means time.Now.
func NewService(ctx context.Context, s store.Store, sealer engine.Sealer, lifetimes Lifetimes, now func() time.Time) (*Service, error) {
	if now == nil {
		now = time.Now
	}
	service := &Service{store: s, callers: newCallers(s), sessions: newSessions(s), lifetimes: lifetimes, now: now,
		parser: jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(issuer),
			jwt.WithExpirationRequired(), jwt.WithStrictDecoding(), jwt.WithTimeFunc(now))}
	service.apiTokens.store, service.apiTokens.collections = s, []string{tokenType, tokenCollection, "users", "roles", "teams", "networks"}
	service.apiTokens.entries.Most = maxKept
	service.apiTokens.entries.Weigh = func(e entry[*apiToken]) int { return weightOf(e.value.caller) }
	service.uses.init()
	var err error
	if service.keys, err = openKeys(ctx, s, sealer, lifetimes, now()); err != nil {
		return nil, err
	}
	return service, openSecret(ctx, s, sealer, service)
}

// Caller returns the caller of an access token, or of an API token. An error is
// of kind Unauthenticated, or comes from the store.
func (s *Service) Caller(ctx context.Context, token string) (*engine.Caller, error) {
	if isAPIToken(token) {
		return s.apiCaller(ctx, token)
	}
	c, err := s.verify(ctx, token)
	if err != nil {
		return nil, err
	}
	m, err := s.callers.find(ctx, c.Subject)
	if err != nil {
		return nil, store.Translate(err)
	}
	if m == nil || m.credential != c.Credential {
		return nil, message.TokenInvalid.Error(nil)
	}
	session, err := s.sessions.find(ctx, c.Subject, c.session())
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
// and stores the uses of API tokens that RecordUses could not store. Every server of a store may call it.
func (s *Service) Maintain(ctx context.Context) error {
	if err := s.keys.maintain(ctx, s.now()); err != nil {
		return err
	}
	return errors.Join(s.Sweep(ctx), s.storeUses(ctx))
}
