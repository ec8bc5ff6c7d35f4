package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"marquee/auth/password"
	"marquee/auth/signing"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Tokens is the response to a grant (specification, part 5).
type Tokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    string `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`

	user string // the id of the user
}

// refreshDocument is a stored refresh token. Its record has the hash of the token as
// its id, and is INACTIVE since its UpdateTime once the token has been used.
type refreshDocument struct {
	User string `json:"user"`
	// Credential is the revision of the password that the session began with, and
	// Epoch that of session.epoch.
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

// maxRefreshes is how often a session can be refreshed in refreshWindow. Each time
// leaves a record until it expires.
const (
	maxRefreshes  = 1000
	refreshWindow = 24 * time.Hour
)

// refreshed counts a refresh of the session.
func (grant *refreshDocument) refreshed(now time.Time) error {
	if now.Sub(grant.Since) >= refreshWindow {
		grant.Since, grant.Count = now, 0
	}
	if grant.Count >= maxRefreshes {
		refused := message.AttemptsTooMany.Error(nil)
		refused.RetryAfter = grant.Since.Add(refreshWindow).Sub(now)
		return refused
	}
	grant.Count++
	return nil
}

// signIn begins a session of an active user after an attempt with the right password.
// A new password invalidates the tokens.
func (s *Service) signIn(ctx context.Context, a *password.Attempt, grant refreshDocument, network string) (*Tokens, error) {
	err := s.store.Read(store.Latest(ctx), func(r store.Snapshot) error {
		found, err := readSession(ctx, r, grant.User, "")
		if err == nil {
			grant.Epoch = found.epoch
			err = checkMember(ctx, r, grant, network)
		}
		return err
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	refresh := newToken()
	forget := false
	err = s.store.Write(ctx, func(tx store.Tx) (err error) {
		if forget, err = s.beginSession(ctx, tx, grant, refresh); err != nil {
			return err
		}
		if err := a.Succeed(ctx, tx, grant.User); err != nil {
			return err
		}
		return s.putRefresh(ctx, tx, refresh, grant)
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	if forget {
		_ = s.forgetSessions(ctx, grant.User) // what is left is deleted at the next sign-in
	}
	return s.issue(ctx, grant, refresh)
}

// checkMember returns message.InvalidGrant unless the user is active, has the password
// of the grant, and, with a network, has a role in it.
func checkMember(ctx context.Context, s store.Snapshot, grant refreshDocument, network string) error {
	m, err := readMember(ctx, s, grant.User)
	if err != nil {
		return err
	}
	if m == nil || m.credential != grant.Credential {
		return message.InvalidGrant.Error(nil)
	}
	if _, member := m.caller.Grants[network]; network != "" && !member {
		return message.InvalidGrant.Error(nil)
	}
	return nil
}

// issue returns the tokens of a session, with a new access token.
func (s *Service) issue(ctx context.Context, grant refreshDocument, refresh string) (*Tokens, error) {
	access, err := s.Keys.Sign(ctx, signing.Claims{User: grant.User, Credential: grant.Credential, Session: grant.Session, Epoch: grant.Epoch})
	if err != nil {
		return nil, err
	}
	return &Tokens{AccessToken: access, TokenType: "bearer", ExpiresIn: seconds(s.config.Lifetimes.Access), RefreshToken: refresh, user: grant.User}, nil
}

// putRefresh stores a new refresh token.
func (s *Service) putRefresh(ctx context.Context, tx store.Tx, token string, grant refreshDocument) error {
	now := s.now().UTC().Truncate(time.Millisecond)
	grant.Expires = now.Add(s.config.Lifetimes.Refresh)
	content, err := json.Marshal(grant)
	if err != nil {
		return err
	}
	write := store.InternalWrite(store.Record{Key: store.Key{ID: hashToken(token)}}, "ACTIVE", content, now)
	return tx.Put(ctx, refreshCollection, []store.Write{write})
}

// newToken returns an opaque token of 256 bits.
func newToken() string {
	var random [32]byte
	rand.Read(random[:])
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// hashToken returns the form in which the store has an opaque token.
func hashToken(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
