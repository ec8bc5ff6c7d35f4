package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/golang-jwt/jwt/v5"

	"marquee/engine/generations"
	"marquee/engine/message"
	"marquee/engine/store"
)

// The issuer and the audience of access tokens.
const issuer, audience = "marquee", "marquee"

// claims are the claims of an access token.
type claims struct {
	jwt.RegisteredClaims
	// Credential is the revision of the password that the user signed in with: a new
	// password invalidates the token.
	Credential int64 `json:"cred"`
	// Epoch is session.epoch, and Session the id of the session.
	Epoch   int64  `json:"epoch,omitempty"`
	Session string `json:"sid,omitempty"`
}

// session returns the id of the session. A token of a version without sessions is one
// by itself.
func (c *claims) session() string {
	if c.Session == "" {
		return c.ID
	}
	return c.Session
}

// maxVerified is the number of verified tokens that are remembered.
const maxVerified = 10_000

// verified remembers the tokens whose signatures have been verified. Whether a token
// has expired, or its key, user or session is no longer valid, is decided each time.
type verified struct {
	mu     sync.Mutex
	tokens generations.Map[[sha256.Size]byte, *verifiedToken]
}

type verifiedToken struct {
	claims *claims
	key    string
}

func (v *verified) get(digest [sha256.Size]byte) (*verifiedToken, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.tokens.Get(digest)
}

func (v *verified) put(digest [sha256.Size]byte, t *verifiedToken) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tokens.Most = maxVerified
	v.tokens.Put(digest, t)
}

var errKey = errors.New("the token names no valid key")

// verify returns the claims of an access token that was signed by this service and
// has not expired. The error is message.TokenInvalid, or of the store.
func (s *Service) verify(ctx context.Context, token string) (*claims, error) {
	digest, now := sha256.Sum256([]byte(token)), s.now()
	if known, ok := s.verified.get(digest); ok {
		key, err := s.keys.public(ctx, known.key, now)
		switch {
		case err != nil:
			return nil, store.Translate(err)
		case key == nil || !now.Before(known.claims.ExpiresAt.Time):
			return nil, message.TokenInvalid.Error(nil)
		}
		return known.claims, nil
	}
	if strings.ContainsAny(token, "\r\n") { // the base64 decoder ignores them
		return nil, message.TokenInvalid.Error(nil)
	}
	c, id := &claims{}, ""
	var failed error
	_, err := s.parser.ParseWithClaims(token, c, func(t *jwt.Token) (any, error) {
		if _, critical := t.Header["crit"]; critical {
			return nil, errKey
		}
		id, _ = t.Header["kid"].(string)
		key, err := s.keys.public(ctx, id, now)
		if failed = err; err == nil && key == nil {
			err = errKey
		}
		return key, err
	})
	switch {
	case failed != nil:
		return nil, store.Translate(failed)
	case err != nil, c.Subject == "",
		c.IssuedAt != nil && c.IssuedAt.After(now.Add(clockSkew)),
		!slices.Contains(c.Audience, audience):
		return nil, message.TokenInvalid.Error(nil)
	}
	s.verified.put(digest, &verifiedToken{c, id})
	return c, nil
}
