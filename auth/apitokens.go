package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strings"
	"time"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

// An API token is an object of the type tokens, which anybody who manages the network
// can see, and a secret, of which the store has only the hash. The hash is kept apart
// from the object, so that no request and no export contains it.

const (
	// tokenType is the type of API tokens.
	tokenType = "tokens"
	// tokenCollection has the tokens by the hashes of their secrets.
	tokenCollection = "auth_tokens" // #nosec G101 -- the name of a collection
)

// apiPrefix is how every API token begins, so that people and scanners recognise it.
const apiPrefix = "mq_"

// An API token has apiRandom random bytes and a checksum of these, so that a truncated
// or invented text is refused without reading the store.
const (
	apiRandom = 32
	apiBytes  = apiRandom + crc32.Size
)

// isAPIToken reports whether a token is an API token, valid or not.
func isAPIToken(token string) bool { return strings.HasPrefix(token, apiPrefix) }

func newAPIToken() string {
	var content [apiBytes]byte
	rand.Read(content[:apiRandom])
	binary.BigEndian.PutUint32(content[apiRandom:], crc32.ChecksumIEEE(content[:apiRandom]))
	return apiPrefix + base64.RawURLEncoding.EncodeToString(content[:])
}

// wellFormedAPIToken reports whether newAPIToken can have returned a token.
func wellFormedAPIToken(token string) bool {
	text := strings.TrimPrefix(token, apiPrefix)
	if len(text) != base64.RawURLEncoding.EncodedLen(apiBytes) || strings.ContainsAny(text, "\r\n") { // which the decoder ignores
		return false
	}
	content, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && binary.BigEndian.Uint32(content[apiRandom:]) == crc32.ChecksumIEEE(content[:apiRandom])
}

// tokenDocument is the part of a stored API token that this package reads.
type tokenDocument struct {
	Role       string    `json:"role"`
	ExpiryTime time.Time `json:"expiryTime"`
}

// secretOfToken is a record of tokenCollection: whose hash it is.
type secretOfToken struct {
	Network string    `json:"network"`
	ID      string    `json:"id"`
	Expires time.Time `json:"expires"`
}

// apiToken is an API token that can be used, with its rights.
type apiToken struct {
	caller  *engine.Caller
	expires time.Time
}

// apiCaller returns the caller of an API token. It has the rights of the token's role,
// on behalf of the user who has created it. That user must be ACTIVE and still manage
// the network; a role of scope TEAM shows what the teams of the user show.
func (s *Service) apiCaller(ctx context.Context, token string) (*engine.Caller, error) {
	if !wellFormedAPIToken(token) {
		return nil, message.TokenInvalid.Error(nil)
	}
	hash := hashToken(token)
	found, err := s.apiTokens.find(ctx, hash, func(r store.Snapshot) (*apiToken, bool, error) {
		found, err := readAPIToken(ctx, r, hash)
		return found, found != nil, err
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	now := s.now()
	if found == nil || !now.Before(found.expires) {
		return nil, message.TokenInvalid.Error(nil)
	}
	s.uses.note(store.Key{Network: found.caller.Token.Network, ID: found.caller.Token.ID}, now)
	return found.caller, nil
}

// readAPIToken returns the API token with a hash, or nil if there is none or it cannot
// be used. Whether it has expired is for the caller to decide.
func readAPIToken(ctx context.Context, r store.Snapshot, hash string) (*apiToken, error) {
	secret, err := readSecret(ctx, r, hash)
	if err != nil || secret == nil {
		return nil, err
	}
	var document *tokenDocument
	owner := ""
	err = r.Get(ctx, tokenType, []store.Key{{Network: secret.Network, ID: secret.ID}}, func(r *store.Record) error {
		if r.State != "ACTIVE" {
			return nil
		}
		document, owner = &tokenDocument{}, r.CreateUser
		return json.Unmarshal(r.Document, document)
	})
	if err != nil || document == nil {
		return nil, err
	}
	user, err := readMember(ctx, r, owner)
	if err != nil || user == nil || !manages(user.caller.Grants[secret.Network]) {
		return nil, err
	}
	caller := &engine.Caller{User: owner, Token: &engine.Token{Network: secret.Network, ID: secret.ID}}
	alone := &userDocument{}
	alone.UserRoles.RolesByNetwork = []networkRoles{{Network: secret.Network, Roles: []userRole{{Role: document.Role}}}}
	if err := grantTo(ctx, r, caller, alone); err != nil {
		return nil, err
	}
	if _, granted := caller.Grants[secret.Network]; !granted { // the role is not ACTIVE
		return nil, nil
	}
	return &apiToken{caller, document.ExpiryTime}, nil
}

// readSecret returns whose hash one is, or nil.
func readSecret(ctx context.Context, r store.Snapshot, hash string) (*secretOfToken, error) {
	var secret *secretOfToken
	err := r.Get(ctx, tokenCollection, []store.Key{{ID: hash}}, func(r *store.Record) error {
		secret = &secretOfToken{}
		return json.Unmarshal(r.Document, secret)
	})
	return secret, err
}

// revokeAPIToken makes an API token INACTIVE on behalf of whoever has it. A token that
// is not valid needs no revocation, and is no error.
func (s *Service) revokeAPIToken(ctx context.Context, e *engine.Engine, token string) error {
	if !wellFormedAPIToken(token) {
		return nil
	}
	var secret *secretOfToken
	owner, active := "", false
	err := s.store.Read(store.Latest(ctx), func(r store.Snapshot) (err error) {
		owner, active = "", false
		if secret, err = readSecret(ctx, r, hashToken(token)); err != nil || secret == nil {
			return err
		}
		return r.Get(ctx, tokenType, []store.Key{{Network: secret.Network, ID: secret.ID}}, func(r *store.Record) error {
			owner, active = r.CreateUser, r.State == "ACTIVE"
			return nil
		})
	})
	if err != nil || !active {
		return store.Translate(err)
	}
	t, err := e.Type(tokenType)
	if err != nil {
		return err
	}
	caller := &engine.Caller{User: owner, System: true, Token: &engine.Token{Network: secret.Network, ID: secret.ID}}
	_, err = e.Write(ctx, caller, engine.Batch{Network: secret.Network, Operations: []engine.Operation{
		{Type: t, ID: secret.ID, Object: map[string]any{"objectState": "INACTIVE"}}}})
	return err
}
