package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"marquee/engine/document"
	"marquee/engine/store"
)

// testConcurrency proves the isolation of transactions, among them those that a store
// may run together because they have announced what they read.
func testConcurrency(t *testing.T, h Harness) {
	both := func(name string, test func(*fixture)) {
		t.Run(name, func(t *testing.T) { test(open(t, h)) })
		t.Run(name+", announced", func(t *testing.T) {
			f := open(t, h)
			f.ctx = store.WithEffort(f.ctx, store.Effort{Records: 1, Reads: []store.Lookup{{Collection: things, Keys: []store.Key{key("counter"), key("twin")}},
				{Collection: others, Keys: []store.Key{key("twin")}}}})
			test(f)
		})
	}
	both("no update is lost", testLostUpdates)
	both("no torn transaction is seen", testTornReads)
	both("no reference dangles", testReferences)
	if h.Reopen == nil {
		t.Log("not tested: what was committed is durable, as the store keeps nothing")
		return
	}
	both("what was committed is durable", testDurable)
}

// increment adds one to the number of a record.
func (f *fixture) increment(tx store.Tx, collection, id string) error {
	r, ok := f.records(tx, collection, key(id))[key(id)]
	if !ok {
		return fmt.Errorf("%s is missing", id)
	}
	return tx.Put(f.ctx, collection, []store.Write{next(r, fmt.Sprintf(`{"n":%d}`, f.n(r)+1))})
}

// n returns the number of a record.
func (f *fixture) n(r store.Record) int64 {
	object, err := document.DecodeObject(r.Document, document.DefaultLimits)
	if err != nil {
		f.Error(err)
	}
	n, _ := object["n"].(int64)
	return n
}

func testLostUpdates(f *fixture) {
	const writers, times = 8, 20
	f.put(things, newRecord("counter", `{"n":0}`))
	together(writers, func(int) {
		for range times {
			if err := f.write(func(tx store.Tx) error { return f.increment(tx, things, "counter") }); err != nil {
				f.Error(err)
			}
		}
	})
	counter, _ := f.get(things, "counter")
	same(f, "the number", f.n(counter), writers*times)
	same(f, "the version", counter.Version, writers*times+1)
}

// testTornReads proves that two records of two collections, which change
// together, are equal in every snapshot.
func testTornReads(f *fixture) {
	const writers, times = 4, 15
	f.put(things, newRecord("twin", `{"n":0}`))
	f.put(others, newRecord("twin", `{"n":0}`))
	var running atomic.Int64
	running.Store(writers)
	together(writers+2, func(i int) {
		if i < writers {
			defer running.Add(-1)
			for range times {
				if err := f.write(func(tx store.Tx) error {
					if err := f.increment(tx, others, "twin"); err != nil {
						return err
					}
					return f.increment(tx, things, "twin")
				}); err != nil {
					f.Error(err)
				}
			}
			return
		}
		for last := int64(0); running.Load() > 0; {
			f.read(func(s store.Snapshot) {
				a := f.n(f.records(s, things, key("twin"))[key("twin")])
				b := f.n(f.records(s, others, key("twin"))[key("twin")])
				if a != b || a < last {
					f.Errorf("a snapshot has %d and %d, after %d", a, b, last)
				}
				last = a
			})
		}
	})
	twin, _ := f.get(things, "twin")
	same(f, "the number", f.n(twin), writers*times)
}

// testReferences proves that a transaction may rely on a target that it has
// read, because nothing is ever deleted: no snapshot has a record without its
// target.
func testReferences(f *fixture) {
	const targets = 40
	var running atomic.Int64
	running.Store(2)
	var made atomic.Bool
	id := func(i int) string { return fmt.Sprintf("%03d", i) }
	together(4, func(part int) {
		switch part {
		case 0: // creates the targets
			defer running.Add(-1)
			defer made.Store(true)
			for i := range targets {
				if err := f.write(func(tx store.Tx) error {
					return tx.Put(f.ctx, things, []store.Write{newRecord(id(i), `{}`)})
				}); err != nil {
					f.Error(err)
				}
			}
		case 1: // adds references to targets that it sees
			defer running.Add(-1)
			for i := 0; i < targets && !f.Failed(); {
				exists, must := false, made.Load()
				if err := f.write(func(tx store.Tx) error {
					if _, exists = f.records(tx, things, key(id(i)))[key(id(i))]; !exists {
						return nil
					}
					return tx.Put(f.ctx, others, []store.Write{newRecord(id(i), `{}`)})
				}); err != nil {
					f.Error(err)
				}
				if exists {
					i++
				} else if must {
					f.Errorf("%s was stored and is not there", id(i))
				}
			}
		default: // reads the references first, then the targets
			for running.Load() > 0 {
				f.read(func(s store.Snapshot) {
					for _, r := range f.page(s, all(others, nil)) {
						if len(f.records(s, things, r.Key)) == 0 {
							f.Errorf("%s refers to nothing", r.ID)
						}
					}
				})
			}
		}
	})
	same(f, "how many refer", len(f.ids(all(others, nil))), targets)
}

func testDurable(f *fixture) {
	const writers, times = 16, 6
	together(writers, func(i int) {
		for k := range times {
			id := fmt.Sprintf("%02d-%02d", i, k)
			w := newRecord(id, fmt.Sprintf(`{"id":%q}`, id))
			w.AddTerms, w.AddClaims = []store.Term{{Key: "t", Value: id}}, []store.Claim{claim(id)}
			if err := f.write(func(tx store.Tx) error {
				if err := tx.Put(f.ctx, things, []store.Write{w}); err != nil {
					return err
				}
				return tx.Append(f.ctx, []store.Change{{Time: epoch, Network: net, Collection: things, ID: id, Version: 1,
					User: "anna", Fields: []byte(`[]`)}})
			}); err != nil {
				f.Error(err)
			}
		}
	})
	f.reopen()
	changes, _, err := f.s.Changes(f.ctx, "", everything)
	f.must(err)
	same(f, "how many changes", len(changes), writers*times)
	f.read(func(s store.Snapshot) {
		for i := range writers {
			for k := range times {
				id := fmt.Sprintf("%02d-%02d", i, k)
				owners, err := s.Claims(f.ctx, []store.Claim{claim(id)})
				f.must(err)
				r := f.records(s, things, key(id))[key(id)]
				if string(r.Document) != fmt.Sprintf(`{"id":%q}`, id) || owners[claim(id)] != id {
					f.Errorf("%s: the record is %+v, the claim of %q", id, r, owners[claim(id)])
				}
			}
		}
	})
}
