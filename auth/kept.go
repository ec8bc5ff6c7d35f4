package auth

import (
	"context"
	"errors"
	"sync"
	"time"

	"marquee/engine/generations"
	"marquee/engine/store"
)

// maxAge is how long values are kept at most. Changes that were made by hand, or by
// restoring a backup, are not announced by the store.
const maxAge = time.Minute

// kept remembers what was read from some collections, until one of them changes.
// While the store does not know, everything is read. Calls that want the same value at
// the same time read it once: it may be large, and many may want it after a change.
type kept[K comparable, V any] struct {
	store       store.Store
	collections []string

	mu       sync.Mutex
	revision string
	entries  generations.Map[K, entry[V]]
	reading  map[K]*reading[V]
}

// reading is a read for which other calls wait.
type reading[V any] struct {
	revision string
	ended    chan struct{}
	value    V
	err      error
}

type entry[V any] struct {
	value V
	at    time.Time
}

// find returns the value of a key. Read reads it in a snapshot, and reports whether it
// may be kept.
func (k *kept[K, V]) find(ctx context.Context, key K, read func(store.Snapshot) (value V, keep bool, err error)) (V, error) {
	revision, known := k.store.Recent(k.collections...)
	for known && ctx.Err() == nil {
		if value, ok := k.get(revision, key); ok {
			return value, nil
		}
		r, first := k.join(revision, key)
		if first {
			k.perform(store.Latest(ctx), key, r, read)
			return r.value, r.err
		}
		select {
		case <-r.ended:
			if r.err == nil { // otherwise, perhaps because of the deadline of another call
				return r.value, nil
			}
		case <-ctx.Done():
		}
	}
	value, _, err := k.read(ctx, read)
	return value, err
}

// join returns the read of a key that is in progress, or a new one, which the caller
// performs. A read that began under the same revision has the same values, so it can be
// shared.
func (k *kept[K, V]) join(revision string, key K) (r *reading[V], first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r = k.reading[key]; r != nil && r.revision == revision {
		return r, false
	}
	if k.reading == nil {
		k.reading = map[K]*reading[V]{}
	}
	r = &reading[V]{revision: revision, ended: make(chan struct{}), err: errPanicked}
	k.reading[key] = r
	return r, true
}

// perform reads a value, and ends the read also if it panics.
func (k *kept[K, V]) perform(ctx context.Context, key K, r *reading[V], read func(store.Snapshot) (V, bool, error)) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.reading[key] == r {
			delete(k.reading, key)
		}
		close(r.ended)
	}()
	at, keep := time.Now(), false
	if r.value, keep, r.err = k.read(ctx, read); r.err == nil && keep {
		k.put(r.revision, key, entry[V]{r.value, at})
	}
}

var errPanicked = errors.New("auth: a read has panicked")

func (k *kept[K, V]) read(ctx context.Context, read func(store.Snapshot) (V, bool, error)) (value V, keep bool, err error) {
	err = k.store.Read(ctx, func(s store.Snapshot) (err error) {
		value, keep, err = read(s)
		return err
	})
	return value, keep, err
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
