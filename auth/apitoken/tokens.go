// Package apitoken has the tokens with which programs call the service: objects with a
// role, and secrets. It imports cache, expiry, rights and signing of auth, engine, rest,
// document, generations, message and store. Begin with Tokens.
package apitoken

import (
	"context"
	"encoding/json"
	"time"

	"marquee/auth/cache"
	"marquee/auth/expiry"
	"marquee/auth/rights"
	"marquee/auth/signing"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

// An API token is an object of the type tokens, which anybody who manages the network
// can see, and a secret, of which the store has only the hash. The hash is kept apart
// from the object, so that no request and no export contains it.

const (
	// typeName is the type of API tokens.
	typeName = "tokens"
	// collection has the tokens by the hashes of their secrets.
	collection = "auth_tokens" // #nosec G101 -- the name of a collection
)

// Collections returns the collections that the store must have for this package.
func Collections() []store.Collection {
	return []store.Collection{{Name: collection}, {Name: useCollection}}
}

// Tokens finds the callers of API tokens, and remembers them until something changes that
// they depend on.
type Tokens struct {
	// Uses are the times when tokens were last used.
	Uses *Uses

	store store.Store
	found *cache.Values[string, *usable]
	now   func() time.Time
}

// New returns the Tokens of a store.
func New(s store.Store, now func() time.Time) *Tokens {
	weigh := func(t *usable) int { return rights.Weight(t.caller) }
	return &Tokens{Uses: newUses(s), store: s, now: now,
		found: cache.New[string, *usable](s, weigh, typeName, collection, "users", "roles", "teams", "networks")}
}

// tokenDocument is the part of a stored API token that this package reads.
type tokenDocument struct {
	Role       string    `json:"role"`
	ExpiryTime time.Time `json:"expiryTime"`
}

// secretDocument is a record of collection: whose hash it is.
type secretDocument struct {
	Network string    `json:"network"`
	ID      string    `json:"id"`
	Expires time.Time `json:"expires"`
}

// usable is an API token that can be used, with its rights.
type usable struct {
	caller  *engine.Caller
	expires time.Time
}

// Caller returns the caller of an API token. It has the rights of the token's role,
// on behalf of the user who has created it. That user must be ACTIVE and still manage
// the network; a role of scope TEAM shows what the teams of the user show.
func (t *Tokens) Caller(ctx context.Context, token string) (*engine.Caller, error) {
	if !wellFormed(token) {
		return nil, message.TokenInvalid.Error(nil)
	}
	digest := hash(token)
	found, err := t.found.Find(ctx, digest, func(r store.Snapshot) (*usable, bool, error) {
		found, err := read(ctx, r, digest)
		return found, found != nil, err
	})
	if err != nil {
		return nil, store.Translate(err)
	}
	now := t.now()
	if found == nil || !now.Before(found.expires) {
		return nil, message.TokenInvalid.Error(nil)
	}
	t.Uses.note(store.Key{Network: found.caller.Token.Network, ID: found.caller.Token.ID}, now)
	return found.caller, nil
}

// read returns the API token with a hash, or nil if there is none or it cannot
// be used. Whether it has expired is for the caller to decide.
func read(ctx context.Context, r store.Snapshot, digest string) (*usable, error) {
	secret, err := readSecret(ctx, r, digest)
	if err != nil || secret == nil {
		return nil, err
	}
	var document *tokenDocument
	owner := ""
	err = r.Get(ctx, typeName, []store.Key{{Network: secret.Network, ID: secret.ID}}, func(r *store.Record) error {
		if r.State != "ACTIVE" {
			return nil
		}
		document, owner = &tokenDocument{}, r.CreateUser
		return json.Unmarshal(r.Document, document)
	})
	if err != nil || document == nil {
		return nil, err
	}
	user, err := rights.Read(ctx, r, owner)
	if err != nil || user == nil || !rights.Manages(user.Caller.Grants[secret.Network]) {
		return nil, err
	}
	caller := &engine.Caller{User: owner, Token: &engine.Token{Network: secret.Network, ID: secret.ID}}
	if err := rights.ReadRole(ctx, r, caller, secret.Network, document.Role); err != nil {
		return nil, err
	}
	if _, granted := caller.Grants[secret.Network]; !granted { // the role is not ACTIVE
		return nil, nil
	}
	return &usable{caller, document.ExpiryTime}, nil
}

// readSecret returns whose hash one is, or nil.
func readSecret(ctx context.Context, r store.Snapshot, digest string) (*secretDocument, error) {
	var secret *secretDocument
	err := r.Get(ctx, collection, []store.Key{{ID: digest}}, func(r *store.Record) error {
		secret = &secretDocument{}
		return json.Unmarshal(r.Document, secret)
	})
	return secret, err
}

// Revoke makes an API token INACTIVE on behalf of whoever has it. A token that
// is not valid needs no revocation, and is no error.
func (t *Tokens) Revoke(ctx context.Context, e *engine.Engine, token string) error {
	if !wellFormed(token) {
		return nil
	}
	var secret *secretDocument
	owner, active := "", false
	err := t.store.Read(store.Latest(ctx), func(r store.Snapshot) (err error) {
		owner, active = "", false
		if secret, err = readSecret(ctx, r, hash(token)); err != nil || secret == nil {
			return err
		}
		return r.Get(ctx, typeName, []store.Key{{Network: secret.Network, ID: secret.ID}}, func(r *store.Record) error {
			owner, active = r.CreateUser, r.State == "ACTIVE"
			return nil
		})
	})
	if err != nil || !active {
		return store.Translate(err)
	}
	found, err := e.Type(typeName)
	if err != nil {
		return err
	}
	caller := &engine.Caller{User: owner, System: true, Token: &engine.Token{Network: secret.Network, ID: secret.ID}}
	_, err = e.Write(ctx, caller, engine.Batch{Network: secret.Network, Operations: []engine.Operation{
		{Type: found, ID: secret.ID, Object: map[string]any{"objectState": "INACTIVE"}}}})
	return err
}

// Sweep drops the secrets of tokens that have expired. Of many, it leaves some to the next
// call.
func (t *Tokens) Sweep(ctx context.Context) error {
	return expiry.Drop(ctx, t.store, collection, nil, func(r *store.Record) (bool, error) {
		var secret secretDocument
		err := json.Unmarshal(r.Document, &secret)
		return t.now().After(secret.Expires.Add(signing.ClockSkew)), err
	})
}
