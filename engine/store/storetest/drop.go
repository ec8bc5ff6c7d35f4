package storetest

import (
	"fmt"
	"testing"

	"marquee/engine/store"
)

// testDrop proves that records can be dropped, and that a transaction that
// drops a record and one that writes it exclude each other.
func testDrop(t *testing.T, h Harness) {
	f := open(t, h)
	drop := func(ids ...string) error {
		var keys []store.Key
		for _, id := range ids {
			keys = append(keys, key(id))
		}
		return f.write(func(tx store.Tx) error { return store.Drop(f.ctx, tx, others, keys) })
	}
	f.put(others, newRecord("a", `{}`), newRecord("b", `{}`), newRecord("c", `{}`))
	f.must(drop("a", "none", "c"))
	same(f, "the records", fmt.Sprint(f.ids(all(others, nil))), "[b]")
	f.must(drop())
	f.put(others, newRecord("a", `{"n":1}`))
	again, _ := f.get(others, "a")
	same(f, "the revision of a new record", again.Revision, 1)

	stale, _ := f.get(others, "b")
	f.must(drop("b"))
	f.code(f.tryPut(others, next(stale, `{}`)), store.CodeConflict)

	err := f.s.Write(f.ctx, func(tx store.Tx) error {
		if err := store.Drop(f.ctx, tx, others, []store.Key{key("a")}); err != nil {
			return err
		}
		same(f, "the records in the transaction", len(f.records(tx, others, key("a"))), 0)
		return store.ErrRollback
	})
	same(f, "the error", err, store.ErrRollback)
	if _, ok := f.get(others, "a"); !ok {
		t.Error("a rollback does not restore the record")
	}

	f.run("meets writes", func(f *fixture) {
		const writers, times = 4, 20
		f.put(others, newRecord("counter", `{"n":0}`))
		together(writers, func(int) {
			for n := range times {
				err := f.write(func(tx store.Tx) error {
					if n%4 == 3 {
						taken := f.n(f.records(tx, others, key("counter"))[key("counter")])
						if err := store.Drop(f.ctx, tx, others, []store.Key{key("counter")}); err != nil {
							return err
						}
						return tx.Put(f.ctx, others, []store.Write{newRecord("counter", fmt.Sprintf(`{"n":%d}`, taken+1))})
					}
					return f.increment(tx, others, "counter")
				})
				if err != nil {
					f.Error(err)
				}
			}
		})
		counter, _ := f.get(others, "counter")
		same(f, "the number", f.n(counter), writers*times)
	})
}
