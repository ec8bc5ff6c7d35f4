package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

func (v *checkedSnapshot) ScanHistory(ctx context.Context, collection, after string, limit int) ([]store.Change, error) {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("ScanHistory"); err != nil {
		return nil, err
	}
	changes, err := v.Snapshot.ScanHistory(ctx, collection, after, limit)
	if len(changes) > limit {
		t.Errorf("ScanHistory: %d of at most %d", len(changes), limit)
	}
	for i := range changes {
		checkChange(t, "ScanHistory", &changes[i])
		if changes[i].Collection != collection {
			t.Errorf("ScanHistory: %+v is not of %s", changes[i], collection)
		}
	}
	v.use.done("ScanHistory", err, nil)
	return changes, err
}

func (v *checkedTx) Rewrite(ctx context.Context, collection string, records []store.Record) error {
	t := v.use.t
	t.Helper()
	for i := range records {
		checkRecord(t, "Rewrite", &records[i])
	}
	return v.use.call("Rewrite", func() error { return v.tx.Rewrite(ctx, collection, records) }, store.CodeConflict)
}

func (v *checkedTx) RewriteHistory(ctx context.Context, changes []store.Change) error {
	v.use.t.Helper()
	return v.use.call("RewriteHistory", func() error { return v.tx.RewriteHistory(ctx, changes) }, store.CodeConflict)
}

func (c *checked) Wipe(ctx context.Context) (int64, error) {
	rewritten, err := c.Store.Wipe(ctx)
	fault(c.t, "Wipe", err, store.CodeConflict)
	return rewritten, err
}

// testRewrite proves that documents and changes can be replaced by another
// form.
func testRewrite(t *testing.T, h Harness) {
	f := open(t, h)
	f.run("records", testRewriteRecords)
	f.run("history", testRewriteHistory)
}

func testRewriteRecords(f *fixture) {
	red := store.Term{Key: "colour", Value: "red"}
	w := newRecord("a", `{"name":"plain"}`)
	w.AddTerms, w.AddClaims = []store.Term{red}, []store.Claim{claim("x")}
	f.put(things, w, newRecord("b", `{"name":"other"}`))
	before, _ := f.get(things, "a")
	other := before
	other.Document = []byte(`{"name":"sealed"}`)
	f.must(f.write(func(tx store.Tx) error { return tx.Rewrite(f.ctx, things, []store.Record{other}) }))
	after, _ := f.get(things, "a")
	same(f, "the record", after, other)
	found := f.ids(query.Query{Collection: things, Network: net, Where: query.Term{Key: red.Key, Value: red.Value}, Order: query.Order{Field: query.Field{System: query.ID}}, Limit: 9})
	same(f, "by its term", fmt.Sprint(found), "[a]")
	found = f.ids(query.Query{Collection: things, Network: net, Where: equal(text("name"), "sealed"), Order: query.Order{Field: query.Field{System: query.ID}}, Limit: 9})
	same(f, "by its new form", fmt.Sprint(found), "[a]")
	f.read(func(s store.Snapshot) {
		owners, err := s.Claims(f.ctx, w.AddClaims)
		f.must(err)
		same(f, "the claims", owners, map[store.Claim]string{claim("x"): "a"})
	})
	_, err := f.s.Wipe(f.ctx)
	f.must(err)
	wiped, _ := f.get(things, "a")
	same(f, "the record, wiped", wiped, after)
	wrong := after
	wrong.Revision++
	f.code(f.s.Write(f.ctx, func(tx store.Tx) error { return tx.Rewrite(f.ctx, things, []store.Record{wrong}) }), store.CodeConflict)
	wrong.ID = "nobody"
	f.code(f.s.Write(f.ctx, func(tx store.Tx) error { return tx.Rewrite(f.ctx, things, []store.Record{wrong}) }), store.CodeConflict)
}

func testRewriteHistory(f *fixture) {
	before, err := f.s.End(f.ctx)
	f.must(err)
	waiting := store.WithEffort(f.ctx, store.Effort{Wait: 20 * time.Millisecond})
	_, begun, err := f.s.Changes(waiting, before, everything)
	f.must(err)
	f.must(f.write(func(tx store.Tx) error {
		last := change(net, things, "a", 2)
		last.Owner, last.Notices = "eva", []byte(`[{"code":"c"}]`)
		return tx.Append(f.ctx, []store.Change{change(net, things, "a", 1), change("n2", things, "a", 1), change(net, others, "o", 1), last})
	}))
	_, position, err := f.s.Changes(f.ctx, "", everything)
	f.must(err)
	scan := func(limit int) (all []store.Change) {
		f.read(func(s store.Snapshot) {
			all = nil
			for after := ""; ; {
				changes, err := s.ScanHistory(f.ctx, things, after, limit)
				f.must(err)
				if all = append(all, changes...); len(changes) < limit {
					return
				}
				after = changes[len(changes)-1].Position
			}
		})
		return all
	}
	all := scan(2)
	same(f, "the changes", len(all), 3)
	all[0].Fields, all[2].Fields, all[2].Notices = []byte(`[{"field":"/a.b"}]`), []byte(`[]`), []byte(`[]`)
	f.read(func(s store.Snapshot) { same(f, "the notices", noticed(f, s), 1) })
	f.must(f.write(func(tx store.Tx) error { return tx.RewriteHistory(f.ctx, []store.Change{all[0], all[2]}) }))
	same(f, "the changes after", scan(1), all)
	followed, _, err := f.s.Changes(f.ctx, before, everything, things)
	f.must(err)
	var waited []store.Change
	for n := 0; n < 4; {
		var changes []store.Change
		changes, begun, err = f.s.Changes(waiting, begun, everything)
		f.must(err)
		n += len(changes)
		waited = append(waited, slices.DeleteFunc(changes, func(c store.Change) bool { return c.Collection != things })...)
	}
	for _, changes := range [][]store.Change{followed, waited} {
		same(f, "the changes in the feed", len(changes), len(all))
		for i, c := range changes {
			c.Position = all[i].Position
			same(f, "a change in the feed", c, all[i])
		}
	}
	f.read(func(s store.Snapshot) {
		same(f, "the notices after", noticed(f, s), 0)
		n, err := s.HistoryCount(f.ctx, store.HistoryQuery{Network: net, Collection: things})
		f.must(err)
		same(f, "the count", n, int64(2))
	})
	changes, _, err := f.s.Changes(f.ctx, position, 10)
	f.must(err)
	same(f, "the feed behind", len(changes), 0)
}

// noticed returns the number of notices of eva, by their pages and by their count.
func noticed(f *fixture, s store.Snapshot) int {
	q := store.HistoryQuery{Network: net, Notices: true, Owner: "eva", Collections: []string{things}, Limit: 10}
	notices, err := noticesOf(f.ctx, s, q)
	f.must(err)
	count, err := s.HistoryCount(f.ctx, q)
	f.must(err)
	same(f, "the count of notices", count, int64(len(notices)))
	return len(notices)
}
