package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// countConditions are conditions that a store may count in different ways.
var countConditions = []query.Expr{
	nil, equal(stateField, "ACTIVE"), equal(text("group"), "a"), query.And{equal(text("group"), "a"), query.Not{Of: equal(stateField, "HIDDEN")}},
	query.Term{Key: "t", Value: "a"}, query.Null{Field: text("group")}, query.In{Field: text("group"), Values: []any{"a", "b"}},
}

// testCount proves that a count is exact whatever the store caches, by counting
// between writes.
func testCount(t *testing.T, h Harness) {
	t.Run("after each write", func(t *testing.T) { testCountAfterWrites(open(t, h)) })
	t.Run("while others write", func(t *testing.T) { testCountWhileWriting(open(t, h)) })
}

func testCountAfterWrites(f *fixture) {
	agree := func(after string) {
		f.Helper()
		for _, where := range countConditions {
			for _, collection := range []string{things, others} {
				f.read(func(s store.Snapshot) {
					q := all(collection, where)
					found := len(f.page(s, q))
					for range 2 {
						if n := f.count(s, q); n != found {
							f.Fatalf("after %s: %d counted, %d found of %+v", after, n, found, q)
						}
					}
					q.Offset, q.Limit, q.Order.Descending = 1, 1, true
					if n := f.count(s, q); n != found {
						f.Fatalf("after %s: %d of a page counted, %d in all", after, n, found)
					}
				})
			}
		}
	}
	agree("nothing")
	for i := range 8 {
		id, collection := fmt.Sprint(i), []string{things, others}[i/4]
		group := string(rune('a' + i%3))
		w := newRecord(id, fmt.Sprintf(`{"group":%q}`, group))
		w.AddTerms = []store.Term{{Key: "t", Value: group}}
		f.put(collection, w)
		agree("a new record")
		r, _ := f.get(collection, id)
		w = next(r, `{}`)
		w.State, w.DropTerms = "HIDDEN", w.AddTerms
		f.put(collection, w)
		agree("a change")
		same(f, "rolled back", f.s.Write(f.ctx, func(tx store.Tx) error {
			for _, id := range []string{"gone", "gone too"} {
				same(f, "within a transaction", f.count(tx, all(collection, nil)), len(f.page(tx, all(collection, nil))))
				if err := tx.Put(f.ctx, collection, []store.Write{newRecord(id, `{"group":"a"}`)}); err != nil {
					return err
				}
			}
			same(f, "after its writes", f.count(tx, all(collection, nil)), len(f.page(tx, all(collection, nil))))
			return store.ErrRollback
		}), store.ErrRollback)
		agree("a rollback")
	}
}

func testCountWhileWriting(f *fixture) {
	const writers, times = 4, 15
	var running atomic.Int64
	running.Store(writers)
	together(writers+3, func(i int) {
		if i < writers {
			defer running.Add(-1)
			for k := range times {
				if err := f.write(func(tx store.Tx) error {
					return tx.Put(f.ctx, things, []store.Write{newRecord(fmt.Sprintf("%d-%d", i, k), `{"group":"a"}`)})
				}); err != nil {
					f.Error(err)
				}
			}
			return
		}
		for running.Load() > 0 {
			for _, where := range countConditions[:3] {
				f.read(func(s store.Snapshot) {
					// Count first, so that it cannot use what Find has read.
					n := f.count(s, all(things, where))
					if found := len(f.page(s, all(things, where))); n != found {
						f.Errorf("%d counted, %d found", n, found)
					}
				})
			}
		}
	})
	for _, where := range countConditions[:3] {
		f.read(func(s store.Snapshot) { same(f, "in the end", f.count(s, all(things, where)), writers*times) })
	}
}
