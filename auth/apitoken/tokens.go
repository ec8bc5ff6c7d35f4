// Package apitoken has the tokens with which programs call the service: objects with a
// role, and secrets. It imports cache, expiry, rights and signing of auth, engine, rest,
// document, generations, message and store. Begin with Tokens.
package apitoken

import (
	"context"
	"encoding/json"
	"time"

	"marquee/auth/cache"
	"marquee/auth/rights"
	"marquee/auth/signing"
	"marquee/engine"
	"marquee/engine/expiry"
	"marquee/engine/message"
	"marquee/engine/store"
)

// An API token is an object of the type tokens, which anybody who manages the network
// can see, and a secret, of which the store has only the hash. The hash is kept apart
// from the object, so that no request and no export contains it.

const (
	// Type is the name of the type of API tokens.
	Type = "tokens"
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

	store   store.Store
	builtIn []string
	found   *cache.Values[string, *usable]
	now     func() time.Time
}

// New returns the Tokens of a store. A role with all of the built-in permissions has every
// permission.
func New(s store.Store, builtIn []string, now func() time.Time) *Tokens {
	weigh := func(t *usable) int { return rights.Weight(t.caller) }
	return &Tokens{Uses: newUses(s), store: s, builtIn: builtIn, now: now,
		found: cache.New[string, *usable](s, weigh, Type, collection, "users", "roles", "teams", "networks")}
}

// Stats are those of the cache of tokens.
func (t *Tokens) Stats() cache.Stats { return t.found.Stats() }

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
		found, err := t.read(ctx, r, digest)
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
func (t *Tokens) read(ctx context.Context, r store.Snapshot, digest string) (*usable, error) {
	record, document, err := readObject(ctx, r, digest)
	if err != nil || record.State != "ACTIVE" {
		return nil, err
	}
	user, err := rights.ReadMember(ctx, r, record.CreateUser, nil)
	if err != nil || user == nil || !rights.Manages(user.Caller.Grants[record.Network]) {
		return nil, err
	}
	caller := &engine.Caller{User: record.CreateUser, Token: &engine.Token{Network: record.Network, ID: record.ID}}
	if err := rights.ReadRole(ctx, r, caller, record.Network, document.Role, t.builtIn); err != nil {
		return nil, err
	}
	if _, granted := caller.Grants[record.Network]; !granted { // the role is not ACTIVE
		return nil, nil
	}
	return &usable{caller, document.ExpiryTime}, nil
}

// readObject reads the object of a token whose secret has a hash. The state is "" if there
// is none.
func readObject(ctx context.Context, r store.Snapshot, digest string) (record store.Record, document tokenDocument, err error) {
	var secret secretDocument
	found, err := store.ReadOne(ctx, r, collection, store.Key{ID: digest}, &secret)
	if err != nil || found.Revision == 0 {
		return record, document, err
	}
	record, err = store.ReadOne(ctx, r, Type, store.Key{Network: secret.Network, ID: secret.ID}, &document)
	return record, document, err
}

// Revoke makes an API token INACTIVE on behalf of whoever has it, and returns its id. A token
// that is not valid needs no revocation, and is no error.
func (t *Tokens) Revoke(ctx context.Context, e *engine.Engine, token string) (id string, err error) {
	if !wellFormed(token) {
		return "", nil
	}
	var record store.Record
	err = t.store.Read(store.Latest(ctx), func(r store.Snapshot) (err error) {
		record, _, err = readObject(ctx, r, hash(token))
		return err
	})
	if err != nil || record.State != "ACTIVE" {
		return "", store.Translate(err)
	}
	found, err := e.Type(Type)
	if err != nil {
		return "", err
	}
	caller := &engine.Caller{User: record.CreateUser, System: true, Token: &engine.Token{Network: record.Network, ID: record.ID}}
	_, err = e.Write(ctx, caller, engine.Batch{Network: record.Network, Operations: []engine.Operation{
		{Type: found, ID: record.ID, Object: map[string]any{"objectState": "INACTIVE"}}}})
	return record.ID, err
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
