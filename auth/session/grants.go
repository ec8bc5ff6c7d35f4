package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"

	"marquee/auth/rights"
	"marquee/auth/signing"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Refresh tokens are random texts, of which the store has only the hashes.

const refreshCollection = "auth_refresh"

// grant is a stored refresh token. Its record has the hash of the token as
// its id, and is INACTIVE since its UpdateTime once the token has been used.
type grant struct {
	User string `json:"user"`
	// Credential is the revision of the password that the session began with, and
	// Epoch that of state.epoch.
	Credential int64 `json:"credential"`
	Epoch      int64 `json:"epoch,omitempty"`
	// Session is "" for tokens of versions without sessions.
	Session string    `json:"session,omitempty"`
	Expires time.Time `json:"expires"`
	// Since is when the refreshes of the session were last counted from, and Count
	// their number.
	Since time.Time `json:"since,omitzero"`
	Count int       `json:"count,omitempty"`
	// Next is the hash of the token that has replaced this one.
	Next string `json:"next,omitempty"`
}

// maxRefreshes is the maximum number of refreshes of a session in refreshWindow. Each time
// leaves a record until it expires.
const (
	maxRefreshes  = 1000
	refreshWindow = 24 * time.Hour
)

// refreshed counts a refresh of the session.
func (g *grant) refreshed(now time.Time) error {
	if now.Sub(g.Since) >= refreshWindow {
		g.Since, g.Count = now, 0
	}
	if g.Count >= maxRefreshes {
		refused := message.AttemptsTooMany.Error(nil)
		refused.RetryAfter = g.Since.Add(refreshWindow).Sub(now)
		return refused
	}
	g.Count++
	return nil
}

// expiry returns when a refresh token expires that is issued now, as precisely as times are stored.
func (s *Service) expiry() time.Time {
	return s.now().UTC().Truncate(time.Millisecond).Add(s.config.Refresh)
}

// check returns message.InvalidGrant unless the user is active, has the password of the
// grant, and, with a network, has a role in it.
func (g grant) check(ctx context.Context, s store.Snapshot, network string) error {
	m, err := rights.ReadMember(ctx, s, g.User, nil)
	if err != nil {
		return err
	}
	if m == nil || m.Credential != g.Credential {
		return message.InvalidGrant.Error(nil)
	}
	if _, member := m.Caller.Grants[network]; network != "" && !member {
		return message.InvalidGrant.Error(nil)
	}
	return nil
}

// Tokens is the response to a grant (specification, part 5).
type Tokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    string `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`

	// User is the id of the user.
	User string `json:"-"`
	// Ended is the number of sessions that have ended because the user has too many.
	Ended int `json:"-"`
}

// issue returns the tokens of a session, with a new access token.
func (s *Service) issue(ctx context.Context, g grant, refresh string) (*Tokens, error) {
	access, err := s.config.Keys.Sign(ctx, signing.Claims{User: g.User, Credential: g.Credential, Session: g.Session, Epoch: g.Epoch})
	if err != nil {
		return nil, err
	}
	return &Tokens{AccessToken: access, TokenType: "bearer", ExpiresIn: strconv.FormatInt(int64(s.config.Access/time.Second), 10), RefreshToken: refresh, User: g.User}, nil
}

// newToken returns an opaque token of 256 bits.
func newToken() string {
	var random [32]byte
	rand.Read(random[:])
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// hash returns the form in which the store has an opaque token.
func hash(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}
