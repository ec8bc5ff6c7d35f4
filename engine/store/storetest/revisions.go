package storetest

import (
	"fmt"
	"testing"

	"marquee/engine/store"
)

// testRevisions proves that a write must expect the stored revision, that a
// failed Put stores nothing, and that versions belong to the writer.
func testRevisions(t *testing.T, h Harness) {
	f := open(t, h)
	f.put(things, newRecord("one", `{"v":1}`))
	one, _ := f.get(things, "one")
	f.put(things, next(one, `{"v":2}`))
	two, _ := f.get(things, "one")

	expecting := func(id string, expected int64) store.Write {
		w := newRecord(id, `{"v":"wrong"}`)
		w.Expected, w.Revision = expected, expected+1
		return w
	}
	for name, writes := range map[string][]store.Write{
		"new, but it exists":       {expecting("one", 0)},
		"an older revision":        {expecting("one", 1)},
		"a later revision":         {expecting("one", 3)},
		"a record that is missing": {expecting("none", 1)},
		"another network's record": {{Record: otherNetwork(two), Expected: 2}},
		"new twice in a batch":     {expecting("twin", 0), expecting("twin", 0)},
		"changed twice in a batch": {expecting("one", 2), expecting("one", 2)},
		"new, then changed":        {expecting("twin", 0), expecting("twin", 0), expecting("twin", 1)},
	} {
		f.run(name, func(f *fixture) {
			good := newRecord("good", `{}`)
			good.AddTerms = []store.Term{{Key: "t", Value: "v"}}
			good.AddClaims = []store.Claim{{Collection: things, Network: net, Property: "name", Value: "good"}}
			for _, batch := range [][]store.Write{append([]store.Write{good}, writes...), append(writes[:len(writes):len(writes)], good)} {
				f.code(f.tryPut(things, batch...), store.CodeConflict)
				if _, stored := f.get(things, "good"); stored {
					f.Error("another record of the failed Put was stored")
				}
				if got, _ := f.get(things, "one"); fmt.Sprint(got) != fmt.Sprint(two) {
					f.Errorf("the record became %+v", got)
				}
				if _, stored := f.get(things, "twin"); stored {
					f.Error("one of two twins was stored")
				}
			}
		})
	}

	f.run("several writes in a transaction", testSeveralPuts)
	f.run("a record that the transaction has read", testPutAfterRead)
	f.run("versions belong to the writer", testOwnVersions)
}

func testSeveralPuts(f *fixture) {
	f.must(f.write(func(tx store.Tx) error {
		w := newRecord("chain", `{"v":1}`)
		for range 3 {
			if err := tx.Put(f.ctx, things, []store.Write{w}); err != nil {
				return err
			}
			seen := f.records(tx, things, w.Key)[w.Key]
			if seen.Revision != w.Revision {
				f.Errorf("the transaction sees revision %d of its own write %d", seen.Revision, w.Revision)
			}
			w = next(w.Record, `{"v":2}`)
		}
		return nil
	}))
	got, _ := f.get(things, "chain")
	same(f, "the revision", got.Revision, 3)
}

func testPutAfterRead(f *fixture) {
	f.put(things, newRecord("read", `{"v":1}`))
	for what, change := range map[string]func(store.Tx, store.Write) error{
		"changed": func(tx store.Tx, w store.Write) error { return tx.Put(f.ctx, things, []store.Write{w}) },
		"dropped": func(tx store.Tx, w store.Write) error { return store.Drop(f.ctx, tx, things, []store.Key{w.Key}) },
	} {
		f.code(f.s.Write(f.ctx, func(tx store.Tx) error {
			seen, ok := f.records(tx, things, key("read"))[key("read")]
			if !ok {
				f.Errorf("the record is gone before it was %s", what)
			}
			w := next(seen, `{"v":2}`)
			if err := change(tx, w); err != nil {
				return err
			}
			return tx.Put(f.ctx, things, []store.Write{w})
		}), store.CodeConflict)
		got, _ := f.get(things, "read")
		same(f, "the revision after it was "+what+" twice", got.Revision, 1)
	}
}

func testOwnVersions(f *fixture) {
	w := newRecord("own", `{}`)
	for revision, version := range []int64{1, 1, 2, 2, 2, 7} {
		w.Revision, w.Version, w.Expected = 0, version, int64(revision)
		f.put(things, w)
		got, _ := f.get(things, "own")
		same(f, "revision and version", []int64{got.Revision, got.Version}, []int64{int64(revision) + 1, version})
	}
	w.Version, w.Expected = 2, 7 // the version, not the revision
	f.code(f.tryPut(things, w), store.CodeConflict)
	w.Version, w.Expected = 0, 6
	f.put(things, w)
	got, _ := f.get(things, "own")
	same(f, "a version that is not given", []int64{got.Revision, got.Version}, []int64{7, 7})
}

func otherNetwork(r store.Record) store.Record {
	r.Network, r.Revision = "elsewhere", r.Revision+1
	return r
}
