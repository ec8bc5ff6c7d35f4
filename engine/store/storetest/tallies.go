package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// CountWhileWriting proves that counts are exact in their snapshots: writers make
// random changes through several stores on the same data, while readers compare
// each count with what they find in the same snapshot.
func CountWhileWriting(t testing.TB, times int, stores ...store.Store) {
	const writers, readers = 3, 2
	first := &fixture{TB: t, ctx: t.Context(), s: stores[0]}
	first.ensure()
	if _, there := first.get(things, "shared"); !there {
		first.put(things, newRecord("shared", `{}`))
	}
	var running, counts atomic.Int64
	running.Store(int64(writers * len(stores)))
	together((writers+readers)*len(stores), func(i int) {
		f := &fixture{TB: t, ctx: t.Context(), s: Checked(stores[i%len(stores)], t)}
		random := generator{rand.New(rand.NewPCG(3, uint64(i)))}
		if i/len(stores) < writers {
			defer running.Add(-1)
			w := countedWriter{fixture: f, generator: random, prefix: fmt.Sprintf("%d-%d-", times, i), own: map[store.Key]store.Record{}}
			for range times {
				w.change()
			}
			return
		}
		for running.Load() > 0 {
			f.compareCounts(random)
			counts.Add(1)
		}
	})
	for i, s := range stores {
		f := &fixture{TB: t, ctx: t.Context(), s: s}
		for range 20 {
			f.compareCounts(generator{rand.New(rand.NewPCG(4, uint64(i)))})
		}
	}
	t.Logf("%d comparisons while others wrote", counts.Load())
}

// compareCounts compares counts with what is found in the same snapshot.
func (f *fixture) compareCounts(g generator) {
	where := pick(g, append(countConditions, equal(stateField, "HIDDEN"), query.In{Field: stateField, Values: []any{"ACTIVE", "INACTIVE"}},
		query.Or{}, query.Or{equal(stateField, "ACTIVE"), equal(text("group"), "a")})...)
	q, early := all(pick(g, things, others), where), g.IntN(2) == 0
	q.Network = pick(g, net, "n2")
	changes := store.HistoryQuery{Network: q.Network, Limit: everything}
	switch g.IntN(3) {
	case 0:
		changes.Collection = q.Collection
	case 1:
		changes.Collections = pick(g, []string{things, others}, []string{others}, []string{})
	}
	f.read(func(s store.Snapshot) {
		if early { // the count may be of a snapshot that was taken before
			f.records(s, things, key("shared"))
		}
		counted := f.count(s, q)
		again, err := s.HistoryCount(f.ctx, changes)
		f.must(err)
		if found := len(f.page(s, q)); counted != found {
			f.Errorf("%d counted, %d found of %+v", counted, found, q)
		}
		list, err := history(f.ctx, s, changes)
		f.must(err)
		if int(again) != len(list) {
			f.Errorf("%d counted, %d found of the history %+v", again, len(list), changes)
		}
	})
}

// countedWriter makes random changes of records of its own, and of one that all share.
type countedWriter struct {
	*fixture
	generator
	prefix string
	n      int
	// own are the records that it has stored, by network and "collection/id".
	own map[store.Key]store.Record
}

func (w *countedWriter) change() {
	if w.IntN(8) == 0 { // also changes that readers of the feed have not reached
		w.removeChanges(epoch.Add(time.Second), 1+w.IntN(4))
	}
	collection := pick(w.generator, things, others)
	var fresh, old []store.Write
	for range w.IntN(3) {
		w.n++
		r := newRecord(w.prefix+fmt.Sprint(w.n), `{"group":"a"}`)
		r.Network, r.State = pick(w.generator, net, "n2"), pick(w.generator, "ACTIVE", "INACTIVE", "HIDDEN")
		fresh = append(fresh, r)
	}
	var dropped []store.Key
	for at, r := range w.own {
		switch {
		case r.ID == "" || at.ID != collection+"/"+r.ID || len(old) == 2:
		case collection == others && w.IntN(8) == 0:
			dropped = append(dropped, r.Key)
		default:
			c := next(r, pick(w.generator, `{"group":"a"}`, `{}`))
			c.State = pick(w.generator, "ACTIVE", "INACTIVE", "HIDDEN")
			old = append(old, c)
		}
	}
	writes := slices.Concat(fresh, old)
	if !w.store(collection, writes, dropped) {
		return
	}
	for _, c := range writes {
		r := c.Record
		r.Revision = c.Expected + 1
		w.own[store.Key{Network: r.Network, ID: collection + "/" + r.ID}] = r
	}
	for _, gone := range dropped {
		delete(w.own, store.Key{Network: gone.Network, ID: collection + "/" + gone.ID})
	}
}

// store writes records in one transaction, which may also change a record that all
// writers share, say nothing to the feed, or be rolled back. It reports whether they have
// been stored.
func (w *countedWriter) store(collection string, writes []store.Write, dropped []store.Key) bool {
	end := pick(w.generator, nil, nil, nil, nil, store.ErrRollback)
	ctx, silent, shared := w.ctx, w.IntN(4) == 0, w.IntN(4) == 0
	if len(dropped) == 0 && w.IntN(2) == 0 { // which may share a transaction
		ctx = store.WithEffort(ctx, store.Effort{Records: 4, Reads: []store.Lookup{{Collection: things, Keys: []store.Key{key("shared")}}}})
	}
	err := errors.New("not written")
	for err != nil && !errors.Is(err, store.ErrRollback) {
		err = w.s.Write(ctx, func(tx store.Tx) error {
			if err := tx.Put(ctx, collection, writes); err != nil {
				return err
			}
			if shared {
				r := w.records(tx, things, key("shared"))[key("shared")]
				c := next(r, `{}`)
				c.State = pick(w.generator, "ACTIVE", "HIDDEN")
				if err := tx.Put(ctx, things, []store.Write{c}); err != nil {
					return err
				}
			}
			if len(dropped) > 0 {
				if err := store.Drop(ctx, tx, collection, dropped); err != nil {
					return err
				}
			}
			if !silent {
				if err := tx.Append(ctx, w.changesOf(collection, writes)); err != nil {
					return err
				}
			}
			return end
		})
		if code, conflict := store.CodeOf(err); err != nil && (!conflict || code != store.CodeConflict) && !errors.Is(err, store.ErrRollback) {
			w.Errorf("a write: %v", err)
			return false
		}
	}
	return err == nil
}

func (w *countedWriter) changesOf(collection string, writes []store.Write) (changes []store.Change) {
	for _, c := range writes {
		changes = append(changes, store.Change{Time: epoch, Network: c.Network, Collection: collection, ID: c.ID, Revision: c.Expected + 1,
			Version: c.Expected + 1, User: "anna", FeedOnly: w.IntN(4) == 0, Fields: []byte("[]")})
	}
	return changes
}
