package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"marquee/engine/store"
)

func change(network, collection, id string, version int64) store.Change {
	return store.Change{Time: epoch, Network: network, Collection: collection, ID: id, Version: version, User: "anna",
		Fields: []byte(`[{"field":"name","from":"ä","to":null}]`)}
}

func names(changes []store.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s/%s/%s@%d ", c.Network, c.Collection, c.ID, c.Version)
	}
	return strings.TrimSpace(b.String())
}

// testFeed proves that changes are kept in commit order, for their readers and
// as the history of objects.
func testFeed(t *testing.T, h Harness) {
	f := open(t, h)
	appendAll := func(changes ...store.Change) {
		f.must(f.write(func(tx store.Tx) error { return tx.Append(f.ctx, changes) }))
	}
	same(t, "an empty history", names(f.history(store.HistoryQuery{Network: net, Limit: 9})), "")
	changes, position, err := f.s.Changes(f.ctx, "", 10)
	f.must(err)
	same(t, "an empty feed", fmt.Sprintf("%d %q", len(changes), position), `0 ""`)

	appendAll(change(net, things, "a", 1), change(net, things, "b", 1))
	appendAll(change(net, others, "a", 1))
	appendAll(change("n2", things, "a", 1), change(net, things, "a", 2), change("", things, "g", 1))
	feed := []string{"n1/things/a@1", "n1/things/b@1", "n1/others/a@1", "n2/things/a@1", "n1/things/a@2", "/things/g@1"}

	f.run("what is in a change", func(f *fixture) {
		changes, _, err := f.s.Changes(f.ctx, "", 1)
		f.must(err)
		changes[0].Position = ""
		same(f, "the first", changes[0], change(net, things, "a", 1))
	})

	f.run("resume from any position", func(f *fixture) {
		for _, limit := range []int{1, 2, 3, 5, 6, 100} {
			var seen []string
			for position := ""; len(seen) <= len(feed); {
				changes, next, err := f.s.Changes(f.ctx, position, limit)
				f.must(err)
				if len(changes) == 0 {
					break
				}
				seen, position = append(seen, strings.Fields(strings.ReplaceAll(names(changes), " /", " /"))...), next
			}
			same(f, fmt.Sprintf("%d at a time", limit), seen, feed)
		}
		changes, _, err := f.s.Changes(f.ctx, "", everything)
		f.must(err)
		for i, c := range changes {
			behind, _, err := f.s.Changes(f.ctx, c.Position, everything)
			f.must(err)
			same(f, "behind the position of a change", len(behind), len(changes)-i-1)
		}
		last := changes[len(changes)-1].Position
		_, position, err := f.s.Changes(f.ctx, last, 10)
		f.must(err)
		appendAll(change(net, things, "late", 1))
		changes, _, err = f.s.Changes(f.ctx, position, 10)
		f.must(err)
		same(f, "what came after the end", names(changes), "n1/things/late@1")
	})

	f.run("positions of others", func(f *fixture) {
		for _, bad := range []string{"nonsense", "-1", "1 OR 1=1", "1.5", " ", "9999999999999999999999"} {
			_, _, err := f.s.Changes(f.ctx, bad, 10)
			f.code(err, store.CodeBadPosition)
		}
	})

	f.run("history", func(f *fixture) {
		for _, c := range []struct {
			q    store.HistoryQuery
			want string
		}{
			{store.HistoryQuery{Network: net, Limit: 9}, "n1/things/late@1 n1/things/a@2 n1/others/a@1 n1/things/b@1 n1/things/a@1"},
			{store.HistoryQuery{Network: net, Limit: 2}, "n1/things/late@1 n1/things/a@2"},
			{store.HistoryQuery{Network: net, Offset: 1, Limit: 2}, "n1/things/a@2 n1/others/a@1"},
			{store.HistoryQuery{Network: net, Offset: 9, Limit: 2}, ""},
			{store.HistoryQuery{Network: net, Collection: things, Limit: 9}, "n1/things/late@1 n1/things/a@2 n1/things/b@1 n1/things/a@1"},
			{store.HistoryQuery{Network: net, Collection: things, ID: "a", Limit: 9}, "n1/things/a@2 n1/things/a@1"},
			{store.HistoryQuery{Network: net, Collections: []string{things, "unknown"}, Limit: 2, Offset: 1}, "n1/things/a@2 n1/things/b@1"},
			{store.HistoryQuery{Network: net, Collections: []string{}, Limit: 9}, ""},
			{store.HistoryQuery{Network: "n2", Limit: 9}, "n2/things/a@1"},
			{store.HistoryQuery{Network: "", Limit: 9}, "/things/g@1"},
			{store.HistoryQuery{Network: "none", Limit: 9}, ""},
		} {
			same(f, fmt.Sprintf("%+v", c.q), names(f.history(c.q)), c.want)
		}
	})

	f.run("of some collections", func(f *fixture) { testFeedOf(f, appendAll) })
	f.run("from the end on", func(f *fixture) { testEnd(f, appendAll) })

	t.Run("followed while others write", func(t *testing.T) { testFollow(open(t, h)) })
}

// testFeedOf: changes of other collections are passed over, wherever the reader
// stands.
func testFeedOf(f *fixture, appendAll func(...store.Change)) {
	all, _, err := f.s.Changes(f.ctx, "", everything)
	f.must(err)
	of := func(collections ...string) (kept []store.Change) {
		for _, c := range all {
			if slices.Contains(collections, c.Collection) {
				kept = append(kept, c)
			}
		}
		return kept
	}
	for _, collections := range [][]string{{things}, {others}, {things, others}, {"none"}, {others, "none"}} {
		for _, limit := range []int{1, 2, 100} {
			var seen []store.Change
			position := ""
			for len(seen) <= len(all) {
				changes, next, err := f.s.Changes(f.ctx, position, limit, collections...)
				f.must(err)
				seen, position = append(seen, changes...), next
				if len(changes) == 0 {
					break
				}
			}
			same(f, fmt.Sprintf("%d at a time of %v", limit, collections), names(seen), names(of(collections...)))
		}
	}
	_, position, err := f.s.Changes(f.ctx, "", everything, others)
	f.must(err)
	appendAll(change(net, things, "passed", 1), change(net, others, "wanted", 1), change(net, things, "over", 1))
	changes, position, err := f.s.Changes(f.ctx, position, 10, others)
	f.must(err)
	same(f, "what came after the end", names(changes), "n1/others/wanted@1")
	changes, _, err = f.s.Changes(f.ctx, position, 10, others)
	f.must(err)
	same(f, "after that", names(changes), "")
}

// testEnd: a reader that begins at the end sees what is written from then on,
// whatever it asks for.
func testEnd(f *fixture, appendAll func(...store.Change)) {
	for i := range 5 {
		end, err := f.s.End(f.ctx)
		f.must(err)
		again, err := f.s.End(f.ctx)
		f.must(err)
		thing, other := fmt.Sprintf("n1/things/new%d@1", i), fmt.Sprintf("n1/others/new%d@1", i)
		appendAll(change(net, things, fmt.Sprint("new", i), 1), change(net, others, fmt.Sprint("new", i), 1))
		for _, position := range []string{end, again} {
			for want, collections := range map[string][]string{thing + " " + other: nil, thing: {things}, other: {others}} {
				for _, limit := range []int{1, 100} {
					var seen []string
					for at := position; ; {
						changes, next, err := f.s.Changes(f.ctx, at, limit, collections...)
						f.must(err)
						if len(changes) == 0 {
							break
						}
						seen, at = append(seen, strings.Fields(names(changes))...), next
					}
					same(f, "what came after the end", strings.HasSuffix(strings.Join(seen, " "), want), true)
					if len(seen) > 5 { // two, and those of one transaction before
						f.Errorf("far from the end: %v", seen)
					}
				}
			}
		}
	}
}

func (f *fixture) history(q store.HistoryQuery) (changes []store.Change) {
	f.Helper()
	f.read(func(s store.Snapshot) {
		var err error
		changes, err = s.History(f.ctx, q)
		f.must(err)
	})
	return changes
}

// testFollow: a reader that resumes again and again misses nothing, sees
// nothing twice, and sees the transactions in the order of their writes.
func testFollow(f *fixture) {
	const writers, times = 4, 20
	f.put(things, newRecord("counter", `{"n":0}`))
	var running atomic.Int64
	running.Store(writers)
	var versions []int64
	together(writers+1, func(i int) {
		if i > 0 {
			defer running.Add(-1)
			for range times {
				if err := f.write(func(tx store.Tx) error {
					if err := f.increment(tx, things, "counter"); err != nil {
						return err
					}
					r := f.records(tx, things, key("counter"))[key("counter")]
					return tx.Append(f.ctx, []store.Change{change(net, things, "counter", r.Version)})
				}); err != nil {
					f.Error(err)
				}
			}
			return
		}
		for position, ended := "", false; len(versions) <= writers*times; {
			last := running.Load() == 0
			changes, next, err := f.s.Changes(f.ctx, position, 7)
			if err != nil {
				f.Error(err)
				return
			}
			for _, c := range changes {
				versions = append(versions, c.Version)
			}
			position = next
			if ended = last && len(changes) == 0; ended {
				return
			}
		}
	})
	same(f, "how many", len(versions), writers*times)
	if !slices.IsSorted(versions) {
		f.Errorf("not in commit order: %v", versions)
	}
}

// testRevision proves that a revision tells exactly whether a collection has
// changed.
func testRevision(t *testing.T, h Harness) {
	f := open(t, h)
	if _, ok := f.s.Revision(things); !ok {
		t.Skip("the store cannot tell without a read")
	}
	f.put(things, newRecord("a", `{}`))
	revision := func(collections ...string) string {
		r, ok := f.s.Revision(collections...)
		if !ok {
			t.Errorf("no revision of %v", collections)
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
				t.Errorf("%s: the revision of %s was %s and is %s", what, c, was[c], now)
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
