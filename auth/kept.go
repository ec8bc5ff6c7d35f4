package auth

import (
	"context"
	"sync"
	"time"

	"marquee/engine/store"
)

// generations is a bounded map that forgets what has not been used for longest.
type generations[K comparable, V any] struct {
	// most is what all entries weigh at most.
	most int
	// weigh returns what an entry weighs; nil means 1.
	weigh      func(V) int
	young, old map[K]V
	// weight is that of young.
	weight int
}

func (g *generations[K, V]) get(key K) (V, bool) {
	if value, ok := g.young[key]; ok {
		return value, true
	}
	value, ok := g.old[key]
	if ok {
		g.put(key, value)
	}
	return value, ok
}

func (g *generations[K, V]) put(key K, value V) {
	weight := g.weightOf(value)
	if before, ok := g.young[key]; ok {
		g.weight -= g.weightOf(before)
	}
	if g.young == nil || g.weight > 0 && g.weight+weight > g.most/2 {
		g.old, g.young, g.weight = g.young, map[K]V{}, 0
	}
	g.young[key] = value
	g.weight += weight
}

func (g *generations[K, V]) weightOf(value V) int {
	if g.weigh == nil {
		return 1
	}
	return g.weigh(value)
}

func (g *generations[K, V]) clear() { g.young, g.old, g.weight = nil, nil, 0 }

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
	entries  generations[K, entry[V]]
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
		k.entries.clear()
		return value, false
	}
	e, ok := k.entries.get(key)
	return e.value, ok && time.Since(e.at) < maxAge
}

func (k *kept[K, V]) put(revision string, key K, e entry[V]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.revision == revision {
		k.entries.put(key, e)
	}
}

// latest returns a context for reads that see every write that was answered.
func latest(ctx context.Context) context.Context {
	return store.WithEffort(ctx, store.Effort{Caller: store.EffortOf(ctx).Caller, Latest: true})
}
