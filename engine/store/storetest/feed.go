package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/store"
)

func change(network, collection, id string, version int64) store.Change {
	return store.Change{Time: epoch, Network: network, Collection: collection, ID: id, Revision: version, Version: version, User: "anna",
		Fields: []byte(`[{"field":"name","from":"ä","to":null}]`)}
}

func names(changes []store.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s/%s/%s@%d ", c.Network, c.Collection, c.ID, c.Version)
	}
	return strings.TrimSpace(b.String())
}

// append appends changes in a transaction of their own.
func (f *fixture) append(changes ...store.Change) {
	f.Helper()
	f.must(f.write(func(tx store.Tx) error { return tx.Append(f.ctx, changes) }))
}

// testFeed proves that changes are kept in commit order, for readers of the
// feed and as the history of objects.
func testFeed(t *testing.T, h Harness) {
	f := open(t, h)
	same(t, "an empty history", names(f.history(store.HistoryQuery{Network: net, Limit: 9})), "")
	changes, position, err := f.s.Changes(f.ctx, "", 10)
	f.must(err)
	same(t, "an empty feed", fmt.Sprintf("%d %q", len(changes), position), `0 ""`)

	f.append(change(net, things, "a", 1), change(net, things, "b", 1))
	f.append(change(net, others, "a", 1))
	f.append(change("n2", things, "a", 1), change(net, things, "a", 2), change("", things, "g", 1))

	f.run("a change is returned as appended", testChange)
	f.run("resume from any position", testResume)
	f.run("invalid positions", testBadPositions)
	f.run("history", testHistory)
	f.run("history behind a position", testHistoryPositions)
	f.run("changes of the feed alone", testFeedOnly)
	f.run("the feed of some collections", testFeedOf)
	f.run("from the end", testEnd)

	t.Run("followed while others write", func(t *testing.T) { testFollow(open(t, h), 0) })
	t.Run("waited for while others write", func(t *testing.T) { testFollow(open(t, h), 50*time.Millisecond) })
}

func testChange(f *fixture) {
	changes, _, err := f.s.Changes(f.ctx, "", 1)
	f.must(err)
	changes[0].Position = ""
	same(f, "the first", changes[0], change(net, things, "a", 1))
}

func testResume(f *fixture) {
	feed := []string{"n1/things/a@1", "n1/things/b@1", "n1/others/a@1", "n2/things/a@1", "n1/things/a@2", "/things/g@1"}
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
	f.append(change(net, things, "late", 1))
	changes, _, err = f.s.Changes(f.ctx, position, 10)
	f.must(err)
	same(f, "what came after the end", names(changes), "n1/things/late@1")
}

func testBadPositions(f *fixture) {
	const future = "1000000" // of SQLite
	for _, bad := range []string{"nonsense", "-1", "1 OR 1=1", "1.5", " ", "9999999999999999999999", future} {
		_, _, err := f.s.Changes(f.ctx, bad, 10)
		f.code(err, store.CodeBadPosition)
	}
}

// testFeedOnly proves that FeedOnly changes are not part of the history.
func testFeedOnly(f *fixture) {
	of := func(revision, version int64, feedOnly bool) store.Change {
		c := change(net, others, "q", version)
		c.Revision, c.FeedOnly = revision, feedOnly
		if c.Cause = []byte(`{"code":"c","params":{"a.b":1}}`); feedOnly {
			c.Cause, c.Fields = nil, []byte(`[]`)
		}
		return c
	}
	end, err := f.s.End(f.ctx)
	f.must(err)
	all := []store.Change{of(1, 1, false), of(2, 1, true), of(3, 2, false), of(4, 2, true), of(5, 2, true)}
	f.append(all[0], all[1])
	f.append(all[2:]...)
	for _, collections := range [][]string{nil, {others}} {
		changes, _, err := f.s.Changes(f.ctx, "", everything, collections...)
		f.must(err)
		changes = slices.DeleteFunc(changes, func(c store.Change) bool { return c.ID != "q" })
		late, _, err := f.s.Changes(f.ctx, end, everything, collections...)
		f.must(err)
		for _, read := range [][]store.Change{changes, late[max(0, len(late)-len(all)):]} {
			for i := range read {
				read[i].Position = ""
			}
			same(f, "the feed", read, all)
		}
	}
	for _, q := range []store.HistoryQuery{{Network: net, Collection: others, ID: "q"}, {Network: net, Collection: others}, {Network: net},
		{Network: net, Collections: []string{others, things}}} {
		q.Limit = everything // also used to check the count
		history := slices.DeleteFunc(f.history(q), func(c store.Change) bool { return c.ID != "q" })
		for i := range history {
			history[i].Position = ""
		}
		same(f, fmt.Sprintf("the history %+v", q), history, []store.Change{all[2], all[0]})
	}
}

// testFeedOf proves that changes of other collections are skipped at any
// position.
func testFeedOf(f *fixture) {
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
	f.append(change(net, things, "passed", 1), change(net, others, "wanted", 1), change(net, things, "over", 1))
	changes, position, err := f.s.Changes(f.ctx, position, 10, others)
	f.must(err)
	same(f, "what came after the end", names(changes), "n1/others/wanted@1")
	changes, _, err = f.s.Changes(f.ctx, position, 10, others)
	f.must(err)
	same(f, "after that", names(changes), "")
}

// testEnd proves that a reader that begins at the end sees later changes, of
// any collections.
func testEnd(f *fixture) {
	for i := range 5 {
		end, err := f.s.End(f.ctx)
		f.must(err)
		again, err := f.s.End(f.ctx)
		f.must(err)
		thing, other := fmt.Sprintf("n1/things/new%d@1", i), fmt.Sprintf("n1/others/new%d@1", i)
		f.append(change(net, things, fmt.Sprint("new", i), 1), change(net, others, fmt.Sprint("new", i), 1))
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
					if len(seen) > 5 { // two, and those of one earlier transaction
						f.Errorf("far from the end: %v", seen)
					}
				}
			}
		}
	}
}

// testFollow proves that a reader that resumes again and again misses nothing,
// sees nothing twice, and sees transactions in commit order.
func testFollow(f *fixture, wait time.Duration) {
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
			changes, next, err := f.s.Changes(store.WithEffort(f.ctx, store.Effort{Wait: wait}), position, 7)
			if err != nil {
				f.Error(err)
				return
			}
			for _, c := range changes {
				versions = append(versions, c.Version)
			}
			position = next
			if ended = last && len(changes) == 0; ended && (wait == 0 || len(versions) == writers*times) {
				return
			}
		}
	})
	same(f, "how many", len(versions), writers*times)
	if !slices.IsSorted(versions) {
		f.Errorf("not in commit order: %v", versions)
	}
}
