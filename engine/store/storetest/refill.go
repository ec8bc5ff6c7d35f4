package storetest

import (
	"context"
	"slices"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

func (c *checked) Forget(ctx context.Context, collection string, termKeys, properties []string) error {
	err := c.Store.Forget(ctx, collection, termKeys, properties)
	fault(c.t, "Forget", err)
	return err
}

func (v *checkedTx) Index(ctx context.Context, collection string, entries []store.Entry) error {
	v.use.t.Helper()
	if err := v.use.begin("Index"); err != nil {
		return err
	}
	err := v.tx.Index(ctx, collection, entries)
	v.use.done("Index", err, nil, store.CodeConflict)
	return err
}

// testRefill proves that stored records can be made findable anew, and walked
// whole.
func testRefill(t *testing.T, h Harness) {
	f := open(t, h)
	write := func(network, id string, terms ...store.Term) store.Write {
		w := newRecord(id, `{}`)
		w.Network, w.AddTerms = network, terms
		return w
	}
	red, blue := store.Term{Key: "colour", Value: "red"}, store.Term{Key: "colour", Value: "blue"}
	f.put(things, write(net, "a", red), write(net, "b", red, store.Term{Key: "q", Value: "word"}), write("n2", "a", red))
	with := func(f *fixture, network string, term store.Term) (ids []string) {
		f.read(func(s store.Snapshot) {
			f.must(s.Find(f.ctx, query.Query{Collection: things, Network: network, Where: query.Term{Key: term.Key, Value: term.Value},
				Order: query.Order{Field: query.Field{System: query.ID}}, Limit: 10},
				func(r *store.Record) error { ids = append(ids, r.ID); return nil }))
		})
		return ids
	}

	f.run("scan", func(f *fixture) {
		var all []store.Key
		for last, more := (store.Key{}), true; more; {
			more = false
			f.read(func(s store.Snapshot) {
				f.must(s.Scan(f.ctx, things, last, 2, func(r *store.Record) error {
					all, last, more = append(all, r.Key), r.Key, true
					return nil
				}))
			})
		}
		want := []store.Key{{Network: net, ID: "a"}, {Network: net, ID: "b"}, {Network: "n2", ID: "a"}}
		if !slices.Equal(all, want) {
			f.Errorf("scanned %v, want %v", all, want)
		}
	})

	f.run("forget", func(f *fixture) {
		w := write(net, "c")
		w.AddClaims = []store.Claim{claim("kept"), {Collection: things, Network: net, Property: "other", Value: "gone"}}
		f.put(things, w)
		f.must(f.s.Forget(f.ctx, things, []string{"colour"}, []string{"other"}))
		same(f, "by a forgotten term", with(f, net, red), []string(nil))
		same(f, "by a forgotten term in another network", with(f, "n2", red), []string(nil))
		same(f, "by another term", with(f, net, store.Term{Key: "q", Value: "word"}), []string{"b"})
		f.read(func(s store.Snapshot) {
			owners, err := s.Claims(f.ctx, append(w.AddClaims, claim("none")))
			f.must(err)
			same(f, "the claims", owners, map[store.Claim]string{claim("kept"): "c"})
		})
	})

	f.run("index", func(f *fixture) {
		before, _ := f.get(things, "a")
		entry := store.Entry{Key: store.Key{Network: net, ID: "a"}, Terms: []store.Term{blue}, Claims: []store.Claim{claim("x")}}
		for range 2 {
			f.must(f.s.Write(f.ctx, func(tx store.Tx) error { return tx.Index(f.ctx, things, []store.Entry{entry}) }))
		}
		same(f, "by the new term", with(f, net, blue), []string{"a"})
		after, _ := f.get(things, "a")
		same(f, "the version", after.Version, before.Version)
		for _, wrong := range []store.Entry{
			{Key: store.Key{Network: net, ID: "b"}, Terms: []store.Term{blue}, Claims: []store.Claim{claim("x")}},
			{Key: store.Key{Network: net, ID: "nobody"}, Terms: []store.Term{blue}},
		} {
			f.code(f.s.Write(f.ctx, func(tx store.Tx) error { return tx.Index(f.ctx, things, []store.Entry{wrong}) }), store.CodeConflict)
		}
		same(f, "by the new term, after what was refused", with(f, net, blue), []string{"a"})
	})
}
