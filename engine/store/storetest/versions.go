package storetest

import (
	"fmt"
	"testing"

	"marquee/engine/store"
)

// testVersions proves that a record is written only on top of the version that
// the writer has seen, and that a Put which fails stores nothing.
func testVersions(t *testing.T, h Harness) {
	f := open(t, h)
	f.put(things, newRecord("one", `{"v":1}`))
	one, _ := f.get(things, "one")
	f.put(things, next(one, `{"v":2}`))
	two, _ := f.get(things, "one")

	expecting := func(id string, expected int64) store.Write {
		w := newRecord(id, `{"v":"wrong"}`)
		w.Expected, w.Version = expected, expected+1
		return w
	}
	for name, writes := range map[string][]store.Write{
		"new, but it is there":     {expecting("one", 0)},
		"an older version":         {expecting("one", 1)},
		"a version still to come":  {expecting("one", 3)},
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
					f.Error("a record beside the wrong one was stored")
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

	f.run("one after the other in a transaction", func(f *fixture) {
		f.must(f.write(func(tx store.Tx) error {
			w := newRecord("chain", `{"v":1}`)
			for range 3 {
				if err := tx.Put(f.ctx, things, []store.Write{w}); err != nil {
					return err
				}
				seen := f.records(tx, things, w.Key)[w.Key]
				if seen.Version != w.Version {
					f.Errorf("the transaction sees version %d of its own write %d", seen.Version, w.Version)
				}
				w = next(w.Record, `{"v":2}`)
			}
			return nil
		}))
		got, _ := f.get(things, "chain")
		same(f, "the version", got.Version, 3)
	})
}

func otherNetwork(r store.Record) store.Record {
	r.Network, r.Version = "elsewhere", r.Version+1
	return r
}
