package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

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

type refreshDocument struct {
	User       string    `json:"user"`
	Credential int64     `json:"credential"`
	Expires    time.Time `json:"expires"`
}

// Refresh is the refresh_token grant: the token is used up and replaced.
func (s *Service) Refresh(ctx context.Context, token, network string) (*Tokens, error) {
	key := store.Key{ID: hashToken(token)}
	var used *store.Record
	var grant refreshDocument
	err := s.store.Read(ctx, func(r store.Snapshot) error {
		return r.Get(ctx, refreshCollection, []store.Key{key}, func(r *store.Record) error {
			record := *r
			record.Document = append([]byte(nil), r.Document...)
			used = &record
			return json.Unmarshal(r.Document, &grant)
		})
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	if used == nil || used.State != "ACTIVE" || s.now().After(grant.Expires) {
		return nil, message.InvalidGrant.Error(nil)
	}
	return s.issue(ctx, grant.User, grant.Credential, network, &key)
}

// errUsed says that another request has used the refresh token.
var errUsed = errors.New("the refresh token is used up")

// issue creates tokens for an active user who has proved to know the password with
// the revision credential; a new password invalidates them. The refresh token used, if
// any, is used up in the same transaction, so that only one request can replace it.
func (s *Service) issue(ctx context.Context, user string, credential int64, network string, used *store.Key) (*Tokens, error) {
	m, err := s.callers.find(ctx, user)
	if err != nil {
		return nil, store.Translate(err)
	}
	if m == nil || m.credential != credential {
		return nil, message.InvalidGrant.Error(nil)
	}
	if _, member := m.caller.Grants[network]; network != "" && !member {
		return nil, message.InvalidGrant.Error(nil)
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	kid, key := s.keys.signing()
	access := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{Credential: m.credential, RegisteredClaims: jwt.RegisteredClaims{
		Issuer: issuer, Subject: user, ID: store.NewID(),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(s.lifetimes.Access))}})
	access.Header["kid"] = kid
	signed, err := access.SignedString(key)
	if err != nil {
		return nil, err
	}
	refresh := newToken()
	content, err := json.Marshal(refreshDocument{User: user, Credential: m.credential, Expires: now.Add(s.lifetimes.Refresh)})
	if err != nil {
		return nil, err
	}
	token := store.InternalWrite(store.Record{Key: store.Key{ID: hashToken(refresh)}}, "ACTIVE", content, now)
	err = s.store.Write(ctx, func(tx store.Tx) error {
		writes := []store.Write{token}
		if used != nil {
			spent, err := useUp(ctx, tx, *used, now)
			if err != nil {
				return err
			}
			writes = append(writes, spent)
		}
		return tx.Put(ctx, refreshCollection, writes)
	})
	if errors.Is(err, errUsed) {
		return nil, message.InvalidGrant.Error(nil)
	}
	if err != nil {
		return nil, store.Translate(err)
	}
	return &Tokens{AccessToken: signed, TokenType: "bearer", ExpiresIn: seconds(s.lifetimes.Access), RefreshToken: refresh, user: user}, nil
}

func useUp(ctx context.Context, tx store.Tx, key store.Key, now time.Time) (store.Write, error) {
	var write store.Write
	err := tx.Get(ctx, refreshCollection, []store.Key{key}, func(r *store.Record) error {
		if r.State != "ACTIVE" {
			return errUsed
		}
		write.Record = *r
		write.Document = append([]byte(nil), r.Document...)
		return nil
	})
	write.Expected, write.Version = write.Revision, 0
	write.State, write.UpdateTime = "INACTIVE", now
	return write, err
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
