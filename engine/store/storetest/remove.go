package storetest

import (
	"context"
	"fmt"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

func (v *checkedTx) Remove(ctx context.Context, collection string, writes []store.Write) error {
	v.use.t.Helper()
	return v.use.call("Remove", func() error { return v.tx.Remove(ctx, collection, writes) }, store.CodeConflict)
}

// indexed returns the write of a new record with a claim, a term and an ordered term.
func indexed(id string) store.Write {
	w := claiming(id, claim(id))
	w.Document = []byte(`{"labels":["red"]}`)
	w.AddTerms = []store.Term{{Key: "labels", Value: "red"}, {Key: query.OrderedKey + "team", Value: "east"}}
	return w
}

// removal returns the write that removes a record which indexed has made.
func removal(r store.Record) store.Write {
	w := store.Write{Record: r, Expected: r.Revision, Was: r.State}
	w.DropTerms, w.DropClaims = indexed(r.ID).AddTerms, indexed(r.ID).AddClaims
	return w
}

func (f *fixture) tryRemove(writes ...store.Write) error {
	return f.s.Write(f.ctx, func(tx store.Tx) error { return tx.Remove(f.ctx, things, writes) })
}

// testRemove proves that nothing is left of a record that is removed, and that a new one
// with its key can continue its revisions.
func testRemove(t *testing.T, h Harness) {
	f := open(t, h)
	red := equal(query.Field{Kind: query.String, Term: "labels", Path: []query.Step{{Name: "labels", Array: true}}}, "red")
	east := query.In{Field: query.Field{Kind: query.String, Term: query.OrderedKey + "team", Path: []query.Step{{Name: "id", Array: true}}}, Values: []any{"east"}}
	found := func(what, want string) {
		t.Helper()
		f.read(func(s store.Snapshot) {
			same(f, what+": all", fmt.Sprint(idsOf(f.page(s, all(things, nil)))), want)
			same(f, what+": by term", fmt.Sprint(idsOf(f.page(s, all(things, red)))), want)
			same(f, what+": by ordered term", fmt.Sprint(idsOf(f.page(s, all(things, east)))), want)
			same(f, what+": counted", f.count(s, all(things, nil)), f.count(s, all(things, red)))
		})
	}
	f.put(things, indexed("a"), indexed("b"), indexed("c"))
	found("before", "[a b c]")
	a, _ := f.get(things, "a")
	c, _ := f.get(things, "c")
	f.must(f.tryRemove(removal(a), removal(c)))
	found("after", "[b]")
	same(f, "the claims", f.owners(claim("a"), claim("b"), claim("c")), map[store.Claim]string{claim("b"): "b"})

	f.code(f.tryRemove(removal(a)), store.CodeConflict)
	f.code(f.tryPut(things, next(a, `{}`)), store.CodeConflict)
	b, _ := f.get(things, "b")
	stale := removal(b)
	f.put(things, next(b, string(b.Document)))
	f.code(f.tryRemove(stale), store.CodeConflict)
	found("after conflicts", "[b]")

	f.put(things, newRecord("d", `{}`)) // which may get the place of a
	byTerm := f.ids(all(things, red))
	same(f, "found by the terms of a removed record", fmt.Sprint(byTerm), "[b]")

	again := indexed("a")
	again.Last, again.Revision, again.Version = 7, 8, 5
	f.put(things, again)
	a, _ = f.get(things, "a")
	same(f, "the revision and the version of the new record", fmt.Sprint(a.Revision, a.Version), "8 5")
	f.put(things, next(a, string(a.Document)))
	a, _ = f.get(things, "a")
	same(f, "the next revision", a.Revision, 9)

	f.run("in the transaction", func(f *fixture) {
		err := f.s.Write(f.ctx, func(tx store.Tx) error {
			if err := tx.Remove(f.ctx, things, []store.Write{removal(a)}); err != nil {
				return err
			}
			same(f, "the record", len(f.records(tx, things, key("a"))), 0)
			return store.ErrRollback
		})
		same(f, "the error", err, store.ErrRollback)
		same(f, "the owner after a rollback", f.owners(claim("a"))[claim("a")], "a")
	})
	f.run("meets writes", testRemoveMeetsWrites)
}

// testRemoveMeetsWrites proves that of a transaction that removes a record and one that
// writes it, one runs again.
func testRemoveMeetsWrites(f *fixture) {
	const writers, times = 4, 20
	f.put(others, newRecord("counter", `{"n":0}`))
	together(writers, func(int) {
		for n := range times {
			err := f.write(func(tx store.Tx) error {
				if n%4 != 3 {
					return f.increment(tx, others, "counter")
				}
				was := f.records(tx, others, key("counter"))[key("counter")]
				if err := tx.Remove(f.ctx, others, []store.Write{{Record: was, Expected: was.Revision, Was: was.State}}); err != nil {
					return err
				}
				w := newRecord("counter", fmt.Sprintf(`{"n":%d}`, f.n(was)+1))
				w.Last, w.Revision = was.Revision, was.Revision+1
				return tx.Put(f.ctx, others, []store.Write{w})
			})
			if err != nil {
				f.Error(err)
			}
		}
	})
	counter, _ := f.get(others, "counter")
	same(f, "the number and the revision", fmt.Sprint(f.n(counter), counter.Revision), fmt.Sprint(writers*times, writers*times+1))
}
