package storetest

import (
	"fmt"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// indexSets are sets of indexes that a collection changes between.
var indexSets = [][]store.Index{
	{{Equal: []query.Field{text("group")}, Order: createTime}},
	nil,
	{{Equal: []query.Field{text("group")}, Order: createTime}, {Order: text("a-b")}, {Equal: []query.Field{text("it's"), stateField}, Order: idField}},
	{{Order: number("n.m")}, {Order: number("n.m")}, {Equal: []query.Field{boolean(`quo"te`)}, Order: updateTime}},
	{{Order: createTime}, {Order: idField}, {Order: createUser}},
}

// testEnsure proves that collections and indexes can be added and dropped while
// the store is used, without losing records.
func testEnsure(t *testing.T, h Harness) {
	t.Run("repeated, with other indexes", func(t *testing.T) { testEnsureAgain(open(t, h)) })
	t.Run("similar names", func(t *testing.T) { testSimilarNames(open(t, h)) })
	t.Run("during reads and writes", func(t *testing.T) { testEnsureWhileUsed(open(t, h)) })
}

func testEnsureAgain(f *fixture) {
	for round, indexes := range append(indexSets, indexSets...) {
		for range 2 {
			f.must(f.s.EnsureCollections(f.ctx, []store.Collection{{Name: "fresh", Indexes: indexes}, {Name: things}}))
		}
		f.put("fresh", newRecord(fmt.Sprint(round), `{"group":"g"}`))
		same(f, "how many there are", len(f.ids(all("fresh", equal(text("group"), "g")))), round+1)
	}
	f.must(f.s.EnsureCollections(f.ctx, nil))
	same(f, "an index that is no longer listed", len(f.ids(all("fresh", nil))), 2*len(indexSets))
}

func testSimilarNames(f *fixture) {
	var collections []store.Collection
	for _, name := range []string{"a", "a_id", "a_b", "b", "id", "changes", "claims", "select", "table", "1", "_", "x_a_0123456789abcdef", "sqlite_x", "system_x"} {
		collections = append(collections, store.Collection{Name: name, Indexes: indexSets[0]})
	}
	for range 2 {
		f.must(f.s.EnsureCollections(f.ctx, collections))
	}
	for _, c := range collections {
		f.put(c.Name, newRecord("in-"+c.Name, `{"group":"g"}`))
	}
	for _, c := range collections {
		same(f, c.Name, f.ids(all(c.Name, equal(text("group"), "g"))), []string{"in-" + c.Name})
	}
}

func testEnsureWhileUsed(f *fixture) {
	const rounds = 12
	done := make(chan struct{})
	together(4, func(part int) {
		switch part {
		case 0:
			defer close(done)
			for i := range rounds {
				if err := f.s.EnsureCollections(f.ctx, []store.Collection{{Name: things, Indexes: indexSets[i%len(indexSets)]}, {Name: fmt.Sprintf("new_%d", i)}}); err != nil {
					f.Error(err)
				}
			}
		case 1:
			for i := 0; !closed(done); i++ {
				if err := f.write(func(tx store.Tx) error {
					return tx.Put(f.ctx, things, []store.Write{newRecord(fmt.Sprintf("%06d", i), `{"group":"g"}`)})
				}); err != nil {
					f.Error(err)
				}
			}
		default:
			for last := 0; !closed(done); {
				// The function may run again, so it returns every error.
				f.must(f.s.Read(f.ctx, func(s store.Snapshot) error {
					q := all(things, equal(text("group"), "g"))
					n, err := s.Count(f.ctx, q)
					if err != nil {
						return err
					}
					found := 0
					if err := s.Find(f.ctx, q, func(*store.Record) error { found++; return nil }); err != nil {
						return err
					}
					if int(n) != found || found < last {
						f.Errorf("%d counted, %d found, %d before", n, found, last)
					}
					last = found
					return nil
				}))
			}
		}
	})
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// testLife proves what a store promises when it is closed and opened again.
func testLife(t *testing.T, h Harness) {
	f := open(t, h)
	f.put(things, newRecord("kept", `{}`))
	if h.Reopen != nil {
		closedStore := f.s
		f.reopen()
		same(t, "the records", f.ids(all(things, nil)), []string{"kept"})
		r, _ := f.get(things, "kept")
		f.put(things, next(r, `{}`))
		for name, use := range map[string]func() error{
			"Read":  func() error { return closedStore.Read(f.ctx, func(store.Snapshot) error { return nil }) },
			"Write": func() error { return closedStore.Write(f.ctx, func(store.Tx) error { return nil }) },
			"Check": func() error { return closedStore.Check(f.ctx) },
			"EnsureCollections": func() error {
				return closedStore.EnsureCollections(f.ctx, []store.Collection{{Name: things}})
			},
			"Changes": func() error { _, _, err := closedStore.Changes(f.ctx, "", 1); return err },
			"End":     func() error { _, err := closedStore.End(f.ctx); return err },
		} {
			f.run(name+" of a closed store", func(f *fixture) { f.code(use(), store.CodeUnavailable) })
		}
	}
	f.must(f.s.Check(f.ctx))
}
