// Package auth signs users in and decides what they can see and change: passwords,
// tokens, roles and visibility. It implements the engine's Access, Sealer and hooks
// and rest's Authenticator, and imports only these two and what they are built on;
// begin with Service.
package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Lifetimes are how long tokens are valid.
type Lifetimes struct{ Access, Refresh time.Duration }

// DefaultLifetimes are the lifetimes of the interface decisions.
var DefaultLifetimes = Lifetimes{Access: time.Hour, Refresh: 30 * 24 * time.Hour}

// Service signs users in, and finds the callers of access tokens.
type Service struct {
	store     store.Store
	keys      *keyRing
	callers   *callers
	lifetimes Lifetimes
	now       func() time.Time
	parser    *jwt.Parser
}

// NewService returns a Service on a store that has the collections of this package,
// and creates the signing key if there is none. A nil now means time.Now.
func NewService(ctx context.Context, s store.Store, sealer engine.Sealer, lifetimes Lifetimes, now func() time.Time) (*Service, error) {
	if now == nil {
		now = time.Now
	}
	keys, err := openKeys(ctx, s, sealer, now())
	if err != nil {
		return nil, err
	}
	return &Service{store: s, keys: keys, callers: &callers{store: s}, lifetimes: lifetimes, now: now,
		parser: jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(issuer),
			jwt.WithExpirationRequired(), jwt.WithStrictDecoding(), jwt.WithIssuedAt(), jwt.WithTimeFunc(now))}, nil
}

const issuer = "marquee"

// claims are the claims of an access token. Credential is the revision of the password
// that the user signed in with: a new password invalidates the token.
type claims struct {
	jwt.RegisteredClaims
	Credential int64 `json:"cred"`
}

// Caller returns the caller of an access token. An error is of kind Unauthenticated,
// or of the store.
func (s *Service) Caller(ctx context.Context, token string) (*engine.Caller, error) {
	if strings.ContainsAny(token, "\r\n") { // the base64 decoder ignores them
		return nil, message.TokenInvalid.Error(nil)
	}
	var c claims
	_, err := s.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		key, ok := s.keys.public(id)
		if !ok {
			return nil, errors.New("no such key")
		}
		return key, nil
	})
	if err != nil || c.Subject == "" {
		return nil, message.TokenInvalid.Error(nil)
	}
	m, err := s.callers.find(ctx, c.Subject)
	if err != nil {
		return nil, store.Translate(err)
	}
	if m == nil || m.credential != c.Credential {
		return nil, message.TokenInvalid.Error(nil)
	}
	return m.caller, nil
}
