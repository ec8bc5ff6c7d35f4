package storetest

import (
	"fmt"
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
	t.Run("while others write", func(t *testing.T) {
		f := open(t, h)
		CountWhileWriting(t, 60, f.raw)
		if h.Reopen != nil {
			f.reopen()
			CountWhileWriting(t, 5, f.raw)
		}
	})
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
