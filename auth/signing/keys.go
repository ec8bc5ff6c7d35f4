// Package signing signs and verifies access tokens, with keys that rotate. It imports
// catalog, generations, message, query and store. Begin with Keys.
package signing

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"marquee/engine/catalog"
	"marquee/engine/generations"
	"marquee/engine/query"
	"marquee/engine/store"
)

// Config is what Keys need.
type Config struct {
	Store store.Store
	// Sealer encrypts the private parts of the keys. Without one, they are not stored,
	// and end with the process.
	Sealer catalog.Sealer
	// Access is the lifetime of access tokens, and Rotation how long a key signs them
	// before the next one does; 0 means until Rotate is called.
	Access, Rotation time.Duration
	Now              func() time.Time
}

// Keys sign access tokens. They are those of the store, whose changes they follow.
type Keys struct {
	config Config
	parser *jwt.Parser
	// verified are the tokens that were verified, by their digests.
	verified generations.Map[[sha256.Size]byte, *verifiedToken]
	// loading is the place of the one who reads the keys.
	loading chan struct{}

	mu       sync.Mutex
	set      keySet
	revision string
	known    bool
	loaded   time.Time
	// changes is the number of changes by this process, which hold at once.
	changes int
}

// keysAge is the time for which keys are used while the store does not know whether they have
// changed.
const keysAge = 500 * time.Millisecond

const collection = "auth_keys"

// maxAge is the maximum time for which keys are used. Changes that were made by hand, or by restoring
// a backup, are not announced by the store.
const maxAge = time.Minute

// Collections returns the collections that the store must have for this package.
func Collections() []store.Collection { return []store.Collection{{Name: collection}} }

// Stored reports whether a store has keys, which are encrypted.
func Stored(ctx context.Context, s store.Store) (bool, error) {
	var n int64
	err := s.Read(ctx, func(r store.Snapshot) (err error) {
		n, err = r.Count(ctx, query.Query{Collection: collection})
		return err
	})
	return n > 0, err
}

// Open returns the keys of a store, and creates them if there are none.
func Open(ctx context.Context, c Config) (*Keys, error) {
	k := &Keys{config: c, parser: newParser(c.Now), verified: generations.Map[[sha256.Size]byte, *verifiedToken]{Most: maxVerified}, loading: make(chan struct{}, 1)}
	if c.Sealer == nil {
		k.set = firstKeys(c.Now())
		return k, nil
	}
	return k, c.Store.Write(ctx, func(tx store.Tx) error {
		set, _, err := readKeys(ctx, tx, c.Sealer)
		switch {
		case err != nil:
			return err
		case len(set) == 0:
			set = firstKeys(c.Now())
			return k.create(ctx, tx, set, firstKey, nextKey)
		case set.next() == nil: // of a version without rotation
			return k.create(ctx, tx, keySet{generateKey(c.Now())}, nextKey)
		}
		return nil
	})
}

// create stores new keys, each with the claim of the same index.
func (k *Keys) create(ctx context.Context, tx store.Tx, set keySet, claims ...store.Claim) error {
	var writes []store.Write
	for i, key := range set {
		write, err := key.write(k.config.Sealer, store.Record{}, key.created)
		if err != nil {
			return err
		}
		if claims[i] != (store.Claim{}) {
			write.AddClaims = []store.Claim{claims[i]}
		}
		writes = append(writes, write)
	}
	return tx.Put(ctx, collection, writes)
}

// current returns the keys, which are as old as Store.Recent allows. If they cannot be
// read, the error comes with those that were read last.
func (k *Keys) current(ctx context.Context) (keySet, error) {
	if k.config.Sealer == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.set, nil
	}
	if set, fresh := k.fresh(); fresh {
		return set, nil
	}
	select {
	case k.loading <- struct{}{}:
		defer func() { <-k.loading }()
	case <-ctx.Done():
		set, _ := k.fresh()
		return set, ctx.Err()
	}
	set, fresh := k.fresh()
	if fresh { // another request has read them meanwhile
		return set, nil
	}
	revision, known := k.config.Store.Recent(collection)
	if known {
		ctx = store.Latest(ctx)
	}
	began := time.Now()
	k.mu.Lock()
	changes := k.changes
	k.mu.Unlock()
	var read keySet
	err := k.config.Store.Read(ctx, func(r store.Snapshot) (err error) {
		read, _, err = readKeys(ctx, r, k.config.Sealer)
		return err
	})
	if err == nil && (len(read) == 0 || read[0].from.IsZero()) {
		err = errors.New("the store has lost the keys that sign tokens: start the service again")
	}
	if err != nil {
		return set, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set = read
	if k.changes == changes {
		k.revision, k.known, k.loaded = revision, known, began
	}
	return read, nil
}

// fresh returns the keys that were read last, and whether they are up to date.
func (k *Keys) fresh() (keySet, bool) {
	revision, known := k.config.Store.Recent(collection)
	k.mu.Lock()
	defer k.mu.Unlock()
	age := time.Since(k.loaded)
	if known && k.known {
		return k.set, revision == k.revision && age < maxAge
	}
	return k.set, k.set != nil && age < keysAge
}

// public returns the key of an id, or nil if it is not valid.
func (k *Keys) public(ctx context.Context, id string) (ed25519.PublicKey, error) {
	set, err := k.current(ctx)
	if err != nil {
		return nil, err
	}
	if key := set.valid(k.config.Now(), k.config.Access).find(id); key != nil {
		return key.public, nil
	}
	return nil, nil
}

// Published returns the public keys of which tokens are accepted, for a JSON Web Key Set,
// and the next one.
func (k *Keys) Published(ctx context.Context) ([]JWK, error) {
	set, err := k.current(ctx)
	if err != nil && set == nil {
		return nil, store.Translate(err)
	}
	return set.valid(k.config.Now(), k.config.Access).jwks(), nil
}

// List describes the keys whose tokens are accepted, and the next one, in the order in
// which they sign.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	set, err := k.current(ctx)
	if err != nil {
		return nil, store.Translate(err)
	}
	now := k.config.Now()
	return set.valid(now, k.config.Access).describe(now), nil
}

// Rotate makes the next key sign access tokens, as soon as it has been published
// for ten minutes, and publishes another next key. Tokens that were signed before remain
// valid until they expire.
func (k *Keys) Rotate(ctx context.Context) error {
	now := k.config.Now()
	return k.change(ctx, now, func(set keySet) (keySet, error) { return set.rotate(now) })
}

// Replace makes a new key sign access tokens at once, and all other keys invalid, so
// that clients need new access tokens: it is for the case that a key is known to others.
// Refresh tokens remain valid.
func (k *Keys) Replace(ctx context.Context) error {
	now := k.config.Now()
	return k.change(ctx, now, func(keySet) (keySet, error) { return firstKeys(now), nil })
}

// Maintain rotates the keys by the schedule, and drops those that have been retired. It
// reports whether it has rotated them.
func (k *Keys) Maintain(ctx context.Context) (rotated bool, err error) {
	set, err := k.current(ctx)
	if err != nil {
		return false, err
	}
	now := k.config.Now()
	due := func(set keySet) bool {
		return k.config.Rotation > 0 && !set.last().from.Add(k.config.Rotation).After(now)
	}
	if !due(set) && len(set.valid(now, k.config.Access)) == len(set) {
		return false, nil
	}
	err = k.change(ctx, now, func(set keySet) (keySet, error) {
		set = set.valid(now, k.config.Access)
		if rotated = due(set); !rotated { // another server was faster
			return set, nil
		}
		return set.rotate(now)
	})
	return rotated && err == nil, err
}

// change stores what a function makes of the keys in one transaction.
func (k *Keys) change(ctx context.Context, now time.Time, edit func(keySet) (keySet, error)) error {
	if k.config.Sealer == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		set, err := edit(k.set)
		if err == nil {
			k.set = set
		}
		return err
	}
	err := k.config.Store.Write(ctx, func(tx store.Tx) error {
		before, records, err := readKeys(ctx, tx, k.config.Sealer)
		if err != nil {
			return err
		}
		after, err := edit(before)
		if err != nil {
			return err
		}
		return k.save(ctx, tx, before, after, records, now)
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	k.known, k.loaded = false, time.Time{}
	return store.Translate(err)
}

// save stores the differences between two sets.
func (k *Keys) save(ctx context.Context, tx store.Tx, before, after keySet, records map[string]store.Record, now time.Time) error {
	var writes []store.Write
	var drops []store.Key
	for _, key := range before {
		kept := after.find(key.id)
		if kept == key {
			continue
		}
		write, err := key.write(k.config.Sealer, records[key.id], now)
		if kept != nil {
			write, err = kept.write(k.config.Sealer, records[key.id], now)
		} else {
			drops = append(drops, store.Key{ID: key.id})
		}
		if err != nil {
			return err
		}
		write.DropClaims = []store.Claim{nextKey, firstKey}
		writes = append(writes, write)
	}
	if err := tx.Put(ctx, collection, writes); err != nil {
		return err
	}
	if len(drops) > 0 {
		if err := store.Drop(ctx, tx, collection, drops); err != nil {
			return err
		}
	}
	var made keySet
	var claims []store.Claim
	for _, key := range after {
		if before.find(key.id) != nil {
			continue
		}
		claim := store.Claim{}
		if key.from.IsZero() {
			claim = nextKey
		}
		made, claims = append(made, key), append(claims, claim)
	}
	if len(made) == 0 {
		return nil
	}
	return k.create(ctx, tx, made, claims...)
}

// Check returns an error if a stored key cannot be decrypted.
func Check(ctx context.Context, s store.Snapshot, sealer catalog.Sealer) error {
	_, _, err := readKeys(ctx, s, sealer)
	return err
}
