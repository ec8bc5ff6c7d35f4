package auth

import (
	"context"
	"sync"
	"time"

	"marquee/engine/generations"
	"marquee/engine/store"
)

// maxAge is how long values are kept at most. Changes that were made by hand, or by
// restoring a backup, are not announced by the store.
const maxAge = time.Minute

// kept remembers what was read from some collections, until one of them changes.
// While the store does not know, everything is read.
type kept[K comparable, V any] struct {
	store       store.Store
	collections []string

	mu       sync.Mutex
	revision string
	entries  generations.Map[K, entry[V]]
}

type entry[V any] struct {
	value V
	at    time.Time
}

// find returns the value of a key. Read reads it in a snapshot, and reports whether it
// may be kept.
func (k *kept[K, V]) find(ctx context.Context, key K, read func(store.Snapshot) (value V, keep bool, err error)) (V, error) {
	revision, known := k.store.Recent(k.collections...)
	if known {
		if value, ok := k.get(revision, key); ok {
			return value, nil
		}
		ctx = latest(ctx)
	}
	at := time.Now()
	var value V
	var keep bool
	err := k.store.Read(ctx, func(s store.Snapshot) (err error) {
		value, keep, err = read(s)
		return err
	})
	if err == nil && known && keep {
		k.put(revision, key, entry[V]{value, at})
	}
	return value, err
}

func (k *kept[K, V]) get(revision string, key K) (value V, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.revision != revision {
		k.revision = revision
		k.entries.Clear()
		return value, false
	}
	e, ok := k.entries.Get(key)
	return e.value, ok && time.Since(e.at) < maxAge
}

func (k *kept[K, V]) put(revision string, key K, e entry[V]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.revision == revision {
		k.entries.Put(key, e)
	}
}

// latest returns a context for reads that see every write that was answered.
func latest(ctx context.Context) context.Context {
	return store.WithEffort(ctx, store.Effort{Caller: store.EffortOf(ctx).Caller, Latest: true})
}
