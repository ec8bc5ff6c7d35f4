package signing

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"marquee/engine/message"
	"marquee/engine/store"
)

// The issuer and the audience of access tokens.
const issuer, audience = "marquee", "marquee"

// Claims are what an access token says.
type Claims struct {
	User string
	// Credential is the revision of the password that the user signed in with: a new
	// password invalidates the token.
	Credential int64
	// Session is the id of the session, and Epoch the number of times that all sessions
	// of the user had been ended when it began.
	Session string
	Epoch   int64
}

// claims are the claims of a token as it is encoded.
type claims struct {
	jwt.RegisteredClaims
	Credential int64  `json:"cred"`
	Epoch      int64  `json:"epoch,omitempty"`
	Session    string `json:"sid,omitempty"`
}

// Sign returns an access token, which is valid for Config.Access.
func (k *Keys) Sign(ctx context.Context, c Claims) (string, error) {
	now := k.config.Now().UTC()
	set, err := k.current(ctx)
	if err != nil {
		return "", store.Translate(err)
	}
	key := set.signer(now)
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{Credential: c.Credential, Epoch: c.Epoch, Session: c.Session,
		RegisteredClaims: jwt.RegisteredClaims{Issuer: issuer, Audience: jwt.ClaimStrings{audience}, Subject: c.User, ID: store.NewID(),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(k.config.Access))}})
	token.Header["kid"] = key.id
	return token.SignedString(key.private)
}

func newParser(now func() time.Time) *jwt.Parser {
	return jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(), jwt.WithStrictDecoding(), jwt.WithTimeFunc(now))
}

// maxVerified is the number of verified tokens that are remembered.
const maxVerified = 10_000

// verifiedToken is a token whose signature has been verified. Whether it has expired, or its
// key, user or session is no longer valid, is decided each time.
type verifiedToken struct {
	claims  Claims
	expires time.Time
	key     string
}

var errKey = errors.New("the token names no valid key")

// Verify returns the claims of an access token that was signed with one of the keys and
// has not expired. The error is message.TokenInvalid, or of the store.
func (k *Keys) Verify(ctx context.Context, token string) (Claims, error) {
	digest := sha256.Sum256([]byte(token))
	if known, ok := k.verified.Get(digest); ok {
		key, err := k.public(ctx, known.key)
		switch {
		case err != nil:
			return Claims{}, store.Translate(err)
		case key == nil || !k.config.Now().Before(known.expires):
			return Claims{}, message.TokenInvalid.Error(nil)
		}
		return known.claims, nil
	}
	if strings.ContainsAny(token, "\r\n") { // the base64 decoder ignores them
		return Claims{}, message.TokenInvalid.Error(nil)
	}
	c, id := claims{}, ""
	var failed error
	_, err := k.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if _, critical := t.Header["crit"]; critical {
			return nil, errKey
		}
		id, _ = t.Header["kid"].(string)
		key, err := k.public(ctx, id)
		if failed = err; err == nil && key == nil {
			err = errKey
		}
		return key, err
	})
	switch {
	case failed != nil:
		return Claims{}, store.Translate(failed)
	case err != nil, c.Subject == "",
		c.IssuedAt != nil && c.IssuedAt.After(k.config.Now().Add(ClockSkew)),
		!slices.Contains(c.Audience, audience):
		return Claims{}, message.TokenInvalid.Error(nil)
	}
	verified := &verifiedToken{Claims{User: c.Subject, Credential: c.Credential, Session: c.Session, Epoch: c.Epoch}, c.ExpiresAt.Time, id}
	if c.Session == "" { // a token of a version without sessions is one by itself
		verified.claims.Session = c.ID
	}
	k.verified.Put(digest, verified)
	return verified.claims, nil
}
