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

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Lifetimes are how long tokens are valid.
type Lifetimes struct{ Access, Refresh time.Duration }

// DefaultLifetimes are those of the interface decisions.
var DefaultLifetimes = Lifetimes{Access: time.Hour, Refresh: 30 * 24 * time.Hour}

// Service signs users in, and finds the caller that a token belongs to.
type Service struct {
	store     store.Store
	keys      *keyRing
	callers   *callers
	lifetimes Lifetimes
	now       func() time.Time
	parser    *jwt.Parser
}

// NewService makes a Service on a store that has the collections of this
// package, and the signing key when there is none yet.
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
			jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithTimeFunc(now))}, nil
}

const issuer = "marquee"

// claims are those of an access token. Credential is the version of the
// password that the user signed in with: a new one ends the token.
type claims struct {
	jwt.RegisteredClaims
	Credential int64 `json:"cred"`
}

// Tokens is the answer to a grant (specification, part 5).
type Tokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    string `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
}

// Caller finds who an access token belongs to. An error is of kind
// Unauthenticated, or of the store.
func (s *Service) Caller(ctx context.Context, token string) (*engine.Caller, error) {
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
		return nil, engine.Translate(err)
	}
	if m == nil || m.credential != c.Credential {
		return nil, message.TokenInvalid.Error(nil)
	}
	return m.caller, nil
}

// Password is the password grant. With a network, the user must have a role
// there. What is wrong is not told apart: message.InvalidGrant.
func (s *Service) Password(ctx context.Context, username, password, network string) (*Tokens, error) {
	var id, hash string
	var credential int64
	err := s.store.Read(ctx, func(r store.Snapshot) error {
		claim := store.Claim{Collection: "users", Property: "username", Value: string(document.AppendString(nil, username))}
		owners, err := r.Claims(ctx, []store.Claim{claim})
		if err != nil || owners[claim] == "" {
			return err
		}
		id = owners[claim]
		hash, credential, err = readHash(ctx, r, id)
		return err
	})
	if err != nil {
		return nil, engine.Translate(err)
	}
	if !CheckPassword(password, hash) {
		return nil, message.InvalidGrant.Error(nil)
	}
	return s.issue(ctx, id, credential, network, nil)
}

// readHash reads the stored form of a user's password and its version, "" and
// 0 when he has none.
func readHash(ctx context.Context, r store.Snapshot, id string) (hash string, version int64, err error) {
	var credential credentialDocument
	err = r.Get(ctx, credentialCollection, []store.Key{{ID: id}}, func(r *store.Record) error {
		version = r.Version
		return json.Unmarshal(r.Document, &credential)
	})
	return credential.Hash, version, err
}

type refreshDocument struct {
	User       string    `json:"user"`
	Credential int64     `json:"credential"`
	Expires    time.Time `json:"expires"`
}

// Refresh is the refresh_token grant: the token is used up, and another one is
// given.
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
		return nil, engine.Translate(err)
	}
	if used == nil || used.State != "ACTIVE" || s.now().After(grant.Expires) {
		return nil, message.InvalidGrant.Error(nil)
	}
	return s.issue(ctx, grant.User, grant.Credential, network, &key)
}

// errUsed says that a refresh token was used meanwhile.
var errUsed = errors.New("the refresh token is used up")

// issue makes tokens for an active user who has shown the password of a
// version: they end when another one is set, even if that was meanwhile. With
// used, a refresh token is used up in the same transaction: of two that race,
// one gets its successor.
func (s *Service) issue(ctx context.Context, user string, credential int64, network string, used *store.Key) (*Tokens, error) {
	m, err := s.callers.find(ctx, user)
	if err != nil {
		return nil, engine.Translate(err)
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
		Issuer: issuer, Subject: user, ID: engine.NewID(),
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
	record := store.Record{Key: store.Key{ID: hashToken(refresh)}, Version: 1, State: "ACTIVE", CreateTime: now, UpdateTime: now, Document: content}
	err = s.store.Write(ctx, func(tx store.Tx) error {
		writes := []store.Write{{Record: record}}
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
		return nil, engine.Translate(err)
	}
	return &Tokens{AccessToken: signed, TokenType: "bearer", ExpiresIn: seconds(s.lifetimes.Access), RefreshToken: refresh}, nil
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
	write.Expected = write.Version
	write.Version++
	write.State, write.UpdateTime = "INACTIVE", now
	return write, err
}

// newToken makes an opaque token of 256 bits.
func newToken() string {
	var random [32]byte
	rand.Read(random[:])
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// hashToken is how an opaque token is kept.
func hashToken(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
