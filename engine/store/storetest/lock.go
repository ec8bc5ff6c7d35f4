package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"marquee/engine/store"
)

func (v *checkedTx) Lock(ctx context.Context, collection string, keys []store.Key) error {
	v.use.t.Helper()
	return v.use.call("Lock", func() error { return v.tx.Lock(ctx, collection, keys) }, store.CodeConflict)
}

// testLock proves that a lock counts as a write for conflicts and changes nothing.
func testLock(t *testing.T, h Harness) {
	for name, announced := range map[string]bool{"alone": false, "announced": true} {
		t.Run(name, func(t *testing.T) {
			f := open(t, h)
			if announced {
				f.ctx = store.WithEffort(f.ctx, store.Effort{Records: 1, Reads: []store.Lookup{{Collection: things, Keys: []store.Key{key("a")}}}})
			}
			f.put(things, newRecord("a", `{"n":1}`))
			f.run("changes nothing", testLockChangesNothing)
			f.run("meets a lock", testLockMeetsLock)
			if f.s.Serial() {
				return
			}
			f.run("meets a write", func(f *fixture) {
				f.lockMeets(func(tx store.Tx) error { return f.increment(tx, things, "a") })
			})
			f.run("meets a drop", func(f *fixture) {
				f.lockMeets(func(tx store.Tx) error { return store.Drop(f.ctx, tx, things, []store.Key{key("a")}) })
			})
		})
	}
}

func (f *fixture) lock(tx store.Tx, ids ...string) error {
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = key(id)
	}
	return tx.Lock(f.ctx, things, keys)
}

func testLockChangesNothing(f *fixture) {
	before, _ := f.get(things, "a")
	end, err := f.s.End(f.ctx)
	f.must(err)
	f.must(f.write(func(tx store.Tx) error { return f.lock(tx, "a", "nobody", "a") }))
	f.must(f.write(func(tx store.Tx) error {
		if err := f.lock(tx, "a"); err != nil {
			return err
		}
		same(f, "the record in the transaction", fmt.Sprint(f.records(tx, things, key("a"))[key("a")]), fmt.Sprint(before))
		return f.lock(tx, "a")
	}))
	after, _ := f.get(things, "a")
	same(f, "the record", fmt.Sprint(after), fmt.Sprint(before))
	_, found := f.get(things, "nobody")
	same(f, "a record that nobody has written exists", found, false)
	changes, _, err := f.s.Changes(f.ctx, end, everything)
	f.must(err)
	same(f, "how many changes", len(changes), 0)
	f.must(f.write(func(tx store.Tx) error {
		if err := f.lock(tx, "a"); err != nil {
			return err
		}
		if err := f.increment(tx, things, "a"); err != nil {
			return err
		}
		return f.lock(tx, "a")
	}))
	after, _ = f.get(things, "a")
	same(f, "the revision of a record that is locked and written", after.Revision, before.Revision+1)
}

// testLockMeetsLock writes a record only if a query finds none, in two transactions that
// have begun before either writes.
func testLockMeetsLock(f *fixture) {
	for round := range 5 {
		var begun, waiting sync.WaitGroup
		begun.Add(2)
		taken := errors.New("taken")
		errs := make([]error, 2)
		for i := range errs {
			waiting.Go(func() {
				once := sync.OnceFunc(func() {
					begun.Done()
					if !f.s.Serial() {
						begun.Wait()
					}
				})
				errs[i] = f.write(func(tx store.Tx) error {
					f.records(tx, things, key("a")) // begins the snapshot
					once()
					if err := f.lock(tx, "a"); err != nil {
						return err
					}
					if len(f.page(tx, all(others, nil))) > round {
						return taken
					}
					return tx.Put(f.ctx, others, []store.Write{newRecord(fmt.Sprintf("%d-%d", round, i), `{}`)})
				})
			})
		}
		waiting.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), taken) {
			f.Errorf("want one to be stored and one to be refused, got %v", errs)
		}
	}
}

// lockMeets locks a record that another transaction has changed since the snapshot: the
// function runs again.
func (f *fixture) lockMeets(change func(store.Tx) error) {
	runs := 0
	f.must(f.write(func(tx store.Tx) error {
		runs++
		_, there := f.records(tx, things, key("a"))[key("a")]
		if runs == 1 {
			same(f, "the record exists", there, true)
			f.must(f.write(change))
		}
		return f.lock(tx, "a")
	}))
	same(f, "how often the function runs", runs, 2)
}
