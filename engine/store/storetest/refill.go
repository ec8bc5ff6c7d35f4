package storetest

import (
	"context"
	"encoding/json"
	"fmt"
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
	return v.use.call("Index", func() error { return v.tx.Index(ctx, collection, entries) }, store.CodeConflict)
}

var red, blue = store.Term{Key: "colour", Value: "red"}, store.Term{Key: "colour", Value: "blue"}

// termed returns the write of a new record with terms.
func termed(network, id string, terms ...store.Term) store.Write {
	w := newRecord(id, `{}`)
	w.Network, w.AddTerms = network, terms
	return w
}

// withTerm returns the ids of the records of a network that have a term.
func (f *fixture) withTerm(network string, term store.Term) []string {
	f.Helper()
	q := all(things, query.Term{Key: term.Key, Value: term.Value})
	q.Network = network
	return f.ids(q)
}

// testRefill proves that stored records can be scanned and indexed again.
func testRefill(t *testing.T, h Harness) {
	f := open(t, h)
	f.put(things, termed(net, "a", red), termed(net, "b", red, store.Term{Key: "q", Value: "word"}), termed("n2", "a", red))
	f.run("lacking", testLacking)
	f.run("scan", testScan)
	f.run("forget", testForget)
	f.run("forget many", testForgetMany)
	f.run("index", testIndex)
}

func testLacking(f *fixture) {
	f.read(func(s store.Snapshot) {
		asked := []store.Entry{
			{Key: store.Key{Network: net, ID: "a"}, Terms: []store.Term{red}},
			{Key: store.Key{Network: net, ID: "b"}, Terms: []store.Term{red, blue, {Key: "q", Value: "word"}}},
			{Key: store.Key{Network: "n2", ID: "a"}, Terms: []store.Term{{Key: "q", Value: "red"}}},
			{Key: store.Key{Network: net, ID: "none"}, Terms: []store.Term{red}},
		}
		got, err := s.Lacking(f.ctx, things, asked)
		f.must(err)
		want := []store.Entry{{Key: asked[1].Key, Terms: []store.Term{blue}}, asked[2]}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			f.Errorf("lacking %v, want %v", got, want)
		}
	})
}

func testScan(f *fixture) {
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
}

func testForget(f *fixture) {
	w := termed(net, "c")
	w.AddClaims = []store.Claim{claim("kept"), {Collection: things, Network: net, Property: "other", Value: "gone"}}
	f.put(things, w)
	f.must(f.s.Forget(f.ctx, things, []string{"colour"}, []string{"other"}))
	same(f, "by a forgotten term", f.withTerm(net, red), []string{})
	same(f, "by a forgotten term in another network", f.withTerm("n2", red), []string{})
	same(f, "by another term", f.withTerm(net, store.Term{Key: "q", Value: "word"}), []string{"b"})
	f.read(func(s store.Snapshot) {
		owners, err := s.Claims(f.ctx, append(w.AddClaims, claim("none")))
		f.must(err)
		same(f, "the claims", owners, map[store.Claim]string{claim("kept"): "c"})
	})
}

func testForgetMany(f *fixture) {
	const many = 1500
	other := func(i int) store.Claim {
		return store.Claim{Collection: things, Network: net, Property: "other", Value: fmt.Sprint(i)}
	}
	var writes []store.Write
	var claims []store.Claim
	for i := range many {
		w := termed(net, fmt.Sprintf("many%d", i), red, blue, store.Term{Key: "kept", Value: "v"})
		w.AddClaims = []store.Claim{other(i)}
		writes, claims = append(writes, w), append(claims, other(i))
	}
	f.put(things, append(writes, termed("n3", "a", red))...)
	f.must(f.s.Forget(f.ctx, things, []string{"colour"}, []string{"other"}))
	f.read(func(s store.Snapshot) {
		for key, want := range map[string]int64{"colour": 0, "kept": many} {
			same(f, "with "+key, f.count(s, all(things, query.Term{Key: key, Prefix: true})), want)
		}
		owners, err := s.Claims(f.ctx, claims)
		f.must(err)
		same(f, "the claims", len(owners), 0)
	})
	same(f, "in another network", f.withTerm("n3", red), []string{})
}

func testIndex(f *fixture) {
	before, _ := f.get(things, "a")
	entry := store.Entry{Key: store.Key{Network: net, ID: "a"}, Terms: []store.Term{blue}, Claims: []store.Claim{claim("x")}}
	for range 2 {
		f.must(f.s.Write(f.ctx, func(tx store.Tx) error { return tx.Index(f.ctx, things, []store.Entry{entry}) }))
	}
	same(f, "by the new term", f.withTerm(net, blue), []string{"a"})
	after, _ := f.get(things, "a")
	same(f, "the version", after.Version, before.Version)
	for _, wrong := range []store.Entry{
		{Key: store.Key{Network: net, ID: "b"}, Terms: []store.Term{blue}, Claims: []store.Claim{claim("x")}},
		{Key: store.Key{Network: net, ID: "nobody"}, Terms: []store.Term{blue}},
	} {
		f.code(f.s.Write(f.ctx, func(tx store.Tx) error { return tx.Index(f.ctx, things, []store.Entry{wrong}) }), store.CodeConflict)
	}
	same(f, "by the new term, after refused writes", f.withTerm(net, blue), []string{"a"})
}

// testIndexMeetsPut adds claims to a record while its value changes: in the end
// it owns the claim of its value, and no other.
func testIndexMeetsPut(t *testing.T, h Harness) {
	f := open(t, h)
	value := func(r *store.Record) string {
		var object struct{ Code string }
		f.must(json.Unmarshal(r.Document, &object))
		return object.Code
	}
	document := func(n int) (string, store.Claim) {
		return fmt.Sprintf(`{"code":"c%d"}`, n), claim(fmt.Sprintf("c%d", n))
	}
	first, _ := document(0)
	f.put(things, newRecord("a", first)) // nobody has claimed its value yet
	const times = 40
	together(2, func(i int) {
		for n := range times {
			f.must(f.s.Write(f.ctx, func(tx store.Tx) error {
				var now store.Record
				if err := tx.Get(f.ctx, things, []store.Key{{Network: net, ID: "a"}}, func(r *store.Record) error {
					now = *r
					now.Document = slices.Clone(r.Document)
					return nil
				}); err != nil {
					return err
				}
				mine := claim(value(&now))
				if i == 0 {
					return tx.Index(f.ctx, things, []store.Entry{{Key: now.Key, Claims: []store.Claim{mine}}})
				}
				text, _ := document(n + 1)
				w := next(now, text)
				w.DropClaims = []store.Claim{mine}
				return tx.Put(f.ctx, things, []store.Write{w})
			}))
		}
	})
	var claims []store.Claim
	for n := range times + 1 {
		_, c := document(n)
		claims = append(claims, c)
	}
	now, _ := f.get(things, "a")
	f.read(func(s store.Snapshot) {
		owners, err := s.Claims(f.ctx, claims)
		f.must(err)
		delete(owners, claim(value(&now)))
		same(f, "claims of former values", len(owners), 0)
	})
}
