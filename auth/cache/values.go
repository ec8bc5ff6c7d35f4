// Package cache remembers what was read from a store, until that changes. It imports store
// and generations.
package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/generations"
	"marquee/engine/store"
)

// maxAge is the maximum age of values. Changes that were made by hand, or by
// restoring a backup, are not announced by the store.
const maxAge = time.Minute

// Values remembers what was read from some collections, until one of them changes.
// While the store does not know, everything is read. Calls that want the same value at
// the same time read it once: it may be large, and many may want it after a change.
type Values[K comparable, V any] struct {
	store       store.Store
	collections []string

	hits, misses atomic.Int64

	mu       sync.Mutex
	revision string
	entries  generations.Map[K, entry[V]]
	reading  map[K]*reading[V]
}

// Most is the number of values that are remembered, fewer if they are heavy.
const Most = 10_000

// New returns Values of a store. A nil weigh gives each value the weight 1.
func New[K comparable, V any](s store.Store, weigh func(V) int, collections ...string) *Values[K, V] {
	v := &Values[K, V]{store: s, collections: collections, reading: map[K]*reading[V]{}}
	v.entries.Most = Most
	if weigh != nil {
		v.entries.Weigh = func(e entry[V]) int { return weigh(e.value) }
	}
	return v
}

// Stats are the numbers of values that were remembered when they were wanted, and that had to
// be read.
type Stats struct{ Hits, Misses int64 }

// Stats returns the numbers so far.
func (v *Values[K, V]) Stats() Stats { return Stats{v.hits.Load(), v.misses.Load()} }

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

// Find returns the value of a key. Read reads it in a snapshot, and reports whether it
// may be kept.
func (v *Values[K, V]) Find(ctx context.Context, key K, read func(store.Snapshot) (value V, keep bool, err error)) (V, error) {
	revision, known := v.store.Recent(v.collections...)
	for known && ctx.Err() == nil {
		value, r, first := v.get(revision, key)
		switch {
		case r == nil:
			v.hits.Add(1)
			return value, nil
		case first:
			v.misses.Add(1)
			v.perform(store.Latest(ctx), key, r, read)
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
	v.misses.Add(1)
	value, _, err := v.read(ctx, read)
	return value, err
}

// get returns the value that is remembered, or the read of it that is in progress, or a new one,
// which the caller performs. A read that began under the same revision has the same values, so
// it can be shared.
func (v *Values[K, V]) get(revision string, key K) (value V, r *reading[V], first bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.revision != revision {
		v.revision = revision
		v.entries.Clear()
	}
	if e, ok := v.entries.Get(key); ok && time.Since(e.at) < maxAge {
		return e.value, nil, false
	}
	if r = v.reading[key]; r != nil && r.revision == revision {
		return value, r, false
	}
	r = &reading[V]{revision: revision, ended: make(chan struct{}), err: errPanicked}
	v.reading[key] = r
	return value, r, true
}

// perform reads a value, and ends the read also if it panics.
func (v *Values[K, V]) perform(ctx context.Context, key K, r *reading[V], read func(store.Snapshot) (V, bool, error)) {
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.reading[key] == r {
			delete(v.reading, key)
		}
		close(r.ended)
	}()
	at, keep := time.Now(), false
	if r.value, keep, r.err = v.read(ctx, read); r.err == nil && keep {
		v.put(r.revision, key, entry[V]{r.value, at})
	}
}

var errPanicked = errors.New("auth/cache: a read has panicked")

func (v *Values[K, V]) read(ctx context.Context, read func(store.Snapshot) (V, bool, error)) (value V, keep bool, err error) {
	err = v.store.Read(ctx, func(s store.Snapshot) (err error) {
		value, keep, err = read(s)
		return err
	})
	return value, keep, err
}

func (v *Values[K, V]) put(revision string, key K, e entry[V]) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.revision == revision {
		v.entries.Put(key, e)
	}
}
