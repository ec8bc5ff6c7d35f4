package storetest

import (
	"slices"
	"strings"
	"testing"

	"marquee/engine/store"
)

// testUnchanged proves that what Recent returns of a collection changes exactly when
// the collection does, in a store of one process.
func testUnchanged(t *testing.T, h Harness) {
	f := open(t, h)
	if !f.s.Serial() {
		t.Skip("other processes write to the store")
	}
	f.put(things, newRecord("a", `{}`))
	revision := func(collections ...string) string {
		r, ok := f.s.Recent(collections...)
		if !ok {
			t.Errorf("no value of %v", collections)
		}
		return r
	}
	changes := func(what string, act func(), changed, still []string) {
		t.Helper()
		was := map[string]string{}
		for _, c := range append(changed, still...) {
			was[c] = revision(strings.Split(c, "+")...)
		}
		act()
		for _, c := range append(changed, still...) {
			if now := revision(strings.Split(c, "+")...); (now != was[c]) != slices.Contains(changed, c) {
				t.Errorf("%s: the value of %s was %s and is %s", what, c, was[c], now)
			}
		}
	}
	none, both := []string{}, []string{things, others, things + "+" + others}
	changes("a write", func() { f.put(things, newRecord("b", `{}`)) }, []string{things, things + "+" + others, others + "+" + things}, []string{others})
	changes("a change", func() { r, _ := f.get(things, "b"); f.put(things, next(r, `{}`)) }, []string{things}, []string{others})
	changes("a write of both", func() {
		f.must(f.write(func(tx store.Tx) error {
			if err := tx.Put(f.ctx, things, []store.Write{newRecord("c", `{}`)}); err != nil {
				return err
			}
			return tx.Put(f.ctx, others, []store.Write{newRecord("c", `{}`)})
		}))
	}, both, none)
	changes("reads", func() { f.get(things, "b"); f.ids(all(things, nil)) }, none, both)
	changes("a transaction that only reads", func() {
		f.must(f.write(func(tx store.Tx) error { f.page(tx, all(things, nil)); return nil }))
	}, none, both)
	changes("a rollback", func() {
		_ = f.s.Write(f.ctx, func(tx store.Tx) error {
			if err := tx.Put(f.ctx, things, []store.Write{newRecord("d", `{}`)}); err != nil {
				return err
			}
			return store.ErrRollback
		})
	}, none, both)
	changes("a conflict", func() {
		f.code(f.tryPut(things, newRecord("a", `{}`)), store.CodeConflict)
	}, none, both)
}
