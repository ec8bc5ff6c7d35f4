package auth

import (
	"context"
	"crypto/ed25519"
	"errors"
	"sync"
	"time"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

// keyRing has the keys of the store, and follows their changes.
type keyRing struct {
	store     store.Store
	sealer    engine.Sealer
	lifetimes Lifetimes
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

// keysAge is how long keys are used while the store does not know whether they have
// changed.
const keysAge = 500 * time.Millisecond

// openKeys reads the keys, and creates them if there are none. Without a sealer, keys
// are not stored, and end with the process.
func openKeys(ctx context.Context, s store.Store, sealer engine.Sealer, lifetimes Lifetimes, now time.Time) (*keyRing, error) {
	k := &keyRing{store: s, sealer: sealer, lifetimes: lifetimes, loading: make(chan struct{}, 1)}
	if sealer == nil {
		k.set = firstKeys(now)
		return k, nil
	}
	return k, s.Write(ctx, func(tx store.Tx) error {
		set, _, err := readKeys(ctx, tx, sealer)
		switch {
		case err != nil:
			return err
		case len(set) == 0:
			set = firstKeys(now)
			return k.create(ctx, tx, set, firstKey, nextKey)
		case set.next() == nil: // of a version without rotation
			return k.create(ctx, tx, keySet{generateKey(now)}, nextKey)
		}
		return nil
	})
}

// firstKeys returns a new key that signs at once, and the next one.
func firstKeys(now time.Time) keySet {
	set := keySet{generateKey(now), generateKey(now)}
	set[0].from = now
	return set
}

// create stores new keys, each with the claim of the same index.
func (k *keyRing) create(ctx context.Context, tx store.Tx, set keySet, claims ...store.Claim) error {
	var writes []store.Write
	for i, key := range set {
		write, err := key.write(k.sealer, store.Record{}, key.created)
		if err != nil {
			return err
		}
		if claims[i] != (store.Claim{}) {
			write.AddClaims = []store.Claim{claims[i]}
		}
		writes = append(writes, write)
	}
	return tx.Put(ctx, keyCollection, writes)
}

// current returns the keys, which are as old as Store.Recent allows. If they cannot be
// read, the error comes with those that were read last.
func (k *keyRing) current(ctx context.Context) (keySet, error) {
	if k.sealer == nil {
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
		return set, store.Translate(ctx.Err())
	}
	set, fresh := k.fresh()
	if fresh { // another request has read them meanwhile
		return set, nil
	}
	revision, known := k.store.Recent(keyCollection)
	if known {
		ctx = latest(ctx)
	}
	began := time.Now()
	k.mu.Lock()
	changes := k.changes
	k.mu.Unlock()
	var read keySet
	err := k.store.Read(ctx, func(r store.Snapshot) (err error) {
		read, _, err = readKeys(ctx, r, k.sealer)
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
func (k *keyRing) fresh() (keySet, bool) {
	revision, known := k.store.Recent(keyCollection)
	k.mu.Lock()
	defer k.mu.Unlock()
	age := time.Since(k.loaded)
	if known && k.known {
		return k.set, revision == k.revision && age < maxAge
	}
	return k.set, k.set != nil && age < keysAge
}

// public returns the key of an id, or nil if it is not valid.
func (k *keyRing) public(ctx context.Context, id string, now time.Time) (ed25519.PublicKey, error) {
	set, err := k.current(ctx)
	if err != nil {
		return nil, err
	}
	if key := set.valid(now, k.lifetimes.Access).find(id); key != nil {
		return key.public, nil
	}
	return nil, nil
}

// signing returns the key that signs.
func (k *keyRing) signing(ctx context.Context, now time.Time) (string, ed25519.PrivateKey, error) {
	set, err := k.current(ctx)
	if err != nil {
		return "", nil, err
	}
	key := set.signer(now)
	return key.id, key.private, nil
}

// RotateKeys makes the next key sign access tokens, as soon as it has been published
// for ten minutes, and publishes another next key. Tokens that were signed before remain
// valid until they expire.
func (s *Service) RotateKeys(ctx context.Context) error {
	now := s.now()
	return s.keys.change(ctx, now, func(set keySet) (keySet, error) { return set.rotate(now) })
}

// ReplaceKeys makes a new key sign access tokens at once, and all other keys invalid, so
// that clients need new access tokens: it is for the case that a key is known to others.
// Refresh tokens remain valid.
func (s *Service) ReplaceKeys(ctx context.Context) error {
	now := s.now()
	return s.keys.change(ctx, now, func(keySet) (keySet, error) { return firstKeys(now), nil })
}

// maintain rotates the keys by the schedule, and drops those that have been retired.
func (k *keyRing) maintain(ctx context.Context, now time.Time) error {
	set, err := k.current(ctx)
	if err != nil {
		return err
	}
	due := func(set keySet) bool {
		return k.lifetimes.Key > 0 && !set.last().from.Add(k.lifetimes.Key).After(now)
	}
	if !due(set) && len(set.valid(now, k.lifetimes.Access)) == len(set) {
		return nil
	}
	return k.change(ctx, now, func(set keySet) (keySet, error) {
		set = set.valid(now, k.lifetimes.Access)
		if !due(set) { // another server was faster
			return set, nil
		}
		return set.rotate(now)
	})
}

// rotate returns the set after a rotation.
func (set keySet) rotate(now time.Time) (keySet, error) {
	if len(set) >= maxKeys {
		return nil, message.SigningKeysTooMany.Error(nil)
	}
	rotated := append(keySet{}, set...)
	if next := set.next(); next != nil {
		begins := *next
		begins.from = now
		if ready := next.created.Add(publishedAhead); ready.After(now) {
			begins.from = ready
		}
		if last := set.last().from; !begins.from.After(last) {
			begins.from = last.Add(time.Millisecond)
		}
		rotated[len(rotated)-1] = &begins
	}
	return append(rotated, generateKey(now)), nil
}

// change stores what a function makes of the keys in one transaction.
func (k *keyRing) change(ctx context.Context, now time.Time, edit func(keySet) (keySet, error)) error {
	if k.sealer == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		set, err := edit(k.set)
		if err == nil {
			k.set = set
		}
		return err
	}
	err := k.store.Write(ctx, func(tx store.Tx) error {
		before, records, err := readKeys(ctx, tx, k.sealer)
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
func (k *keyRing) save(ctx context.Context, tx store.Tx, before, after keySet, records map[string]store.Record, now time.Time) error {
	var writes []store.Write
	var drops []store.Key
	for _, key := range before {
		kept := after.find(key.id)
		if kept == key {
			continue
		}
		write, err := key.write(k.sealer, records[key.id], now)
		if kept != nil {
			write, err = kept.write(k.sealer, records[key.id], now)
		} else {
			drops = append(drops, store.Key{ID: key.id})
		}
		if err != nil {
			return err
		}
		write.DropClaims = []store.Claim{nextKey, firstKey}
		writes = append(writes, write)
	}
	if err := tx.Put(ctx, keyCollection, writes); err != nil {
		return err
	}
	if len(drops) > 0 {
		if err := tx.Drop(ctx, keyCollection, drops); err != nil {
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
