package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

func (c *checked) Dump(ctx context.Context, after string, yield func(*store.Portion) error) error {
	var own error
	err := c.Store.(store.Portable).Dump(ctx, after, func(p *store.Portion) error {
		for i := range p.Records {
			checkRecord(c.t, "Dump", &p.Records[i].Record)
		}
		for i := range p.Changes {
			checkChange(c.t, "Dump", &p.Changes[i])
		}
		if p.Next == "" || len(p.Records)+len(p.Claims)+len(p.Changes)+len(p.Pieces) == 0 {
			c.t.Errorf("Dump: a portion of %s has nothing, or no end", p.Part)
		}
		own = yield(p)
		return own
	})
	if own == nil {
		fault(c.t, "Dump", err, store.CodeBadPosition)
	}
	return err
}

func (c *checked) Load(ctx context.Context, p *store.Portion, l store.Loading) error {
	err := c.Store.(store.Portable).Load(ctx, p, l)
	fault(c.t, "Load", err, store.CodeConflict, store.CodeTooLarge, store.CodeUncertain)
	return err
}

// testLoad proves that a store can be loaded with everything that another one keeps, and that
// it is not used before that is complete.
func testLoad(t *testing.T, h Harness) {
	f := open(t, h)
	if _, portable := f.raw.(store.Portable); !portable {
		t.Skip("the store cannot be copied")
	}
	f.fillForLoad()
	portions := f.dump("")
	f.run("the rest", func(f *fixture) {
		for i, p := range portions {
			var want []string
			for _, rest := range portions[i+1:] {
				want = append(want, items(rest)...)
			}
			var got []string
			for _, rest := range f.dump(p.Next) {
				got = append(got, items(rest)...)
			}
			same(f, fmt.Sprint("behind portion ", i), got, want)
		}
		f.code(f.portable().Dump(f.ctx, "nowhere", func(*store.Portion) error { return nil }), store.CodeBadPosition)
	})
	if h.Loading == nil {
		return
	}
	f.run("interrupted", func(f *fixture) { f.loadInterrupted(portions) })
	f.run("refused", func(f *fixture) {
		f.code(f.portable().Load(f.ctx, &store.Portion{}, store.Loading{Progress: loading(0)}), store.CodeInternal)
		_, err := h.Loading(f, f.raw, true)
		f.code(err, store.CodeNotUsable)
	})
}

// fillForLoad stores something of each kind, in more than one portion.
func (f *fixture) fillForLoad() {
	writes, text := make([]store.Write, 600), strings.Repeat("ä", store.PortionBytes/1000)
	for i := range writes {
		w := newRecord(fmt.Sprintf("r%04d", (i*7)%len(writes)), fmt.Sprintf(`{"group":"g","n":%d,"name":%q}`, i, text))
		w.AddTerms = []store.Term{{Key: "labels", Value: fmt.Sprint("=", i%5)}, {Key: query.OrderedKey + "owner", Value: "o"}}
		w.AddClaims = []store.Claim{claim(w.ID), {Collection: things, Property: "everywhere", Value: w.ID}}
		writes[i] = w
	}
	f.put(things, writes...)
	changed, _ := f.get(things, "r0001")
	w := next(changed, `{"a.b":{"$c":[null,1.5,"\u0000"]}}`)
	w.State, w.Warnings, w.DropTerms = "HIDDEN", []byte(`[{"code":"c"}]`), []store.Term{{Key: "labels", Value: "=0"}}
	w.Version = w.Revision + 7
	f.put(things, w)
	global := newRecord("g", `{}`)
	global.Network, global.CreateUser, global.UpdateUser = "", "", ""
	f.put(others, global)
	feedOnly, caused := change(net, things, "r0001", 2), change("", others, "g", 1)
	feedOnly.FeedOnly = true
	caused.Cause, caused.User = []byte(`{"code":"x"}`), ""
	f.append(change(net, things, "r0001", 1), feedOnly)
	f.append(caused, notified(change("n2", things, "a", 3), "eva", "1", "2"))
	f.putBlob(store.Key{Network: net, ID: "empty"}, nil)
	f.putBlob(store.Key{Network: net, ID: "large"}, bytesOf(3, 3<<20+5))
	f.putBlob(store.Key{ID: "small"}, []byte("x"))
}

// portable is the store where it can be copied.
func (f *fixture) portable() store.Portable { return f.s.(store.Portable) }

// dump returns what the store keeps behind a position.
func (f *fixture) dump(after string) (portions []store.Portion) {
	f.Helper()
	f.must(f.portable().Dump(f.ctx, after, func(p *store.Portion) error {
		portions = append(portions, *p)
		return nil
	}))
	return portions
}

// items describes the items of a portion without their positions.
func items(p store.Portion) (all []string) {
	add := func(item any) { all = append(all, fmt.Sprintf("%s %+v", p.Part, item)) }
	for _, w := range p.Records {
		slices.SortFunc(w.AddTerms, func(a, b store.Term) int { return slices.Compare([]string{a.Key, a.Value}, []string{b.Key, b.Value}) })
		all = append(all, string(w.Document)+string(w.Warnings))
		w.Same, w.Was, w.Document, w.Warnings = false, "", nil, nil
		add(w)
	}
	for _, c := range p.Claims {
		add(c)
	}
	for _, c := range p.Changes {
		c.Position = ""
		add(c)
	}
	for _, piece := range p.Pieces {
		add(piece.Blob)
		all = append(all, fmt.Sprintf("%d %x", piece.N, sha256.Sum256(piece.Data)))
	}
	return all
}

// loading is a progress after a number of portions.
func loading(n int) store.Write {
	was := store.Record{Key: store.Key{ID: "progress"}, Revision: int64(n), State: "ACTIVE", CreateTime: epoch}
	return store.InternalWrite(was, "ACTIVE", fmt.Appendf(nil, `{"n":%d}`, n), epoch)
}

// loadInterrupted loads portions into a store that is opened again between them.
func (f *fixture) loadInterrupted(portions []store.Portion) {
	raw, err := f.h.Loading(f, nil, true)
	f.must(err)
	to := *f
	to.use(raw)
	f.must(to.s.EnsureCollections(f.ctx, []store.Collection{{Name: store.LoadingCollection}, {Name: things}, {Name: others}}))
	var want []string
	for i, p := range portions {
		want = append(want, items(p)...)
		f.must(to.portable().Load(f.ctx, &p, store.Loading{Progress: loading(i)}))
		if i%3 > 0 {
			continue
		}
		f.code(to.portable().Load(f.ctx, &store.Portion{}, store.Loading{Progress: loading(i)}), store.CodeConflict)
		_, err := f.h.Loading(f, to.raw, false)
		f.code(err, store.CodeNotUsable)
		raw, err := f.h.Loading(f, to.raw, true)
		f.must(err)
		to.use(raw)
		progress := store.Key{ID: "progress"}
		to.read(func(s store.Snapshot) {
			noted := to.records(s, store.LoadingCollection, progress)[progress]
			same(f, "the progress", string(noted.Document), fmt.Sprintf(`{"n":%d}`, i))
		})
	}
	f.must(to.portable().Load(f.ctx, &store.Portion{}, store.Loading{Progress: loading(len(portions)), Last: true}))
	raw, err = f.h.Loading(f, to.raw, false)
	f.must(err)
	to.use(raw)
	var got []string
	for _, p := range to.dump("") {
		got = append(got, items(p)...)
	}
	same(f, "everything", got, want)
	to.ensure()
	r, _ := to.get(things, "r0001")
	to.put(things, next(r, `{"name":"goes on"}`))
	to.append(change(net, things, "r0001", 3))
	f.read(func(before store.Snapshot) {
		to.read(func(after store.Snapshot) {
			q := store.HistoryQuery{Network: net, Limit: everything}
			n, err := before.HistoryCount(f.ctx, q)
			f.must(err)
			last := to.history(q)
			same(f, "the history", len(last), n+1)
			same(f, "its last change", last[0].Version, 3)
			for _, key := range []store.Key{{Network: net, ID: "empty"}, {Network: net, ID: "large"}, {ID: "small"}} {
				data, _, _ := f.blobRange(before, key, 0, 1<<40)
				to.hasBlob(after, key, data)
			}
		})
	})
}
