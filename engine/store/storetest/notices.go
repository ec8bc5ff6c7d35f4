package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"marquee/engine/store"
)

// notified adds notices for an owner to a change.
func notified(c store.Change, owner string, texts ...string) store.Change {
	c.Owner = owner
	for i, text := range texts {
		texts[i] = fmt.Sprintf(`{"code":"w.%s","params":{"a.b":1,"$c":"ä"}}`, text)
	}
	c.Notices = []byte("[" + strings.Join(texts, ",") + "]")
	return c
}

// noticeCases are queries, the notices that they find as id@version:text, and
// their number regardless of the page.
var noticeCases = []struct {
	q     store.HistoryQuery
	want  string
	count int64
}{
	{store.HistoryQuery{Network: net, Notices: true, Owner: "eva", Collections: []string{things, others}, Limit: 9}, "a@2:6 a@2:7 a@2:8 o@1:5 a@1:1 a@1:2", 6},
	{store.HistoryQuery{Network: net, Notices: true, Owner: "eva", Collections: []string{things, others}, Offset: 1, Limit: 4}, "a@2:7 a@2:8 o@1:5 a@1:1", 6},
	{store.HistoryQuery{Network: net, Notices: true, Owner: "eva", Collections: []string{things, others}, Offset: 6, Limit: 4}, "", 6},
	{store.HistoryQuery{Network: net, Notices: true, Owner: "eva", Collections: []string{things}, Limit: 9}, "a@2:6 a@2:7 a@2:8 a@1:1 a@1:2", 5},
	{store.HistoryQuery{Network: net, Notices: true, Owner: "eva", Collections: []string{}, Limit: 9}, "", 0},
	{store.HistoryQuery{Network: "n2", Notices: true, Owner: "eva", Collections: []string{things}, Limit: 9}, "a@1:4", 1},
	{store.HistoryQuery{Network: net, Notices: true, Owner: "kari", Collections: []string{things, others}, Limit: 9}, "b@1:3", 1},
	{store.HistoryQuery{Network: net, Notices: true, Owner: "ola", Collections: []string{things, others}, Limit: 9}, "s@1:9", 1},
	{store.HistoryQuery{Network: net, Notices: true, Owner: "ola", Collections: []string{others}, Limit: 9}, "", 0},
	{store.HistoryQuery{Network: net, Notices: true, Owner: "", Collections: []string{things, others}, Limit: 9}, "", 0},
}

// testNotices proves that each owner finds their own notices.
func testNotices(t *testing.T, h Harness) {
	f := open(t, h)
	f.must(f.write(func(tx store.Tx) error {
		return tx.Append(f.ctx, []store.Change{change(net, things, "none", 1), notified(change(net, things, "a", 1), "eva", "1", "2"),
			notified(change(net, things, "b", 1), "kari", "3"), notified(change("n2", things, "a", 1), "eva", "4")})
	}))
	f.must(f.write(func(tx store.Tx) error {
		return tx.Append(f.ctx, []store.Change{notified(change(net, others, "o", 1), "eva", "5"), notified(change(net, things, "a", 2), "eva", "6", "7", "8")})
	}))
	silent := notified(change(net, things, "s", 1), "ola", "9")
	silent.Revision, silent.FeedOnly = 2, true
	f.must(f.write(func(tx store.Tx) error { return tx.Append(f.ctx, []store.Change{silent}) }))
	for _, c := range noticeCases {
		f.read(func(s store.Snapshot) {
			notices, err := noticesOf(f.ctx, s, c.q)
			f.must(err)
			var seen []string
			for _, n := range notices {
				text, _, _ := strings.Cut(strings.TrimPrefix(string(n.Notices), `{"code":"w.`), `"`)
				seen = append(seen, fmt.Sprintf("%s@%d:%s", n.ID, n.Version, text))
			}
			same(f, fmt.Sprintf("%+v", c.q), strings.Join(seen, " "), c.want)
			count, err := s.HistoryCount(f.ctx, c.q)
			f.must(err)
			same(f, fmt.Sprintf("the count of %+v", c.q), count, c.count)
		})
	}
	f.read(func(s store.Snapshot) {
		notices, err := noticesOf(f.ctx, s, store.HistoryQuery{Network: net, Notices: true, Owner: "kari", Collections: []string{things}, Limit: 1})
		f.must(err)
		want := notified(change(net, things, "b", 1), "kari", "3")
		want.Position, want.Fields, want.Notices = notices[0].Position, nil, want.Notices[1:len(want.Notices)-1]
		same(f, "a notice", notices[0], want)
	})
	f.read(func(s store.Snapshot) { testNoticePages(f, s) })
	changes := f.history(store.HistoryQuery{Network: net, Collection: things, ID: "b", Limit: 1})
	same(f, "the owner in the history", changes[0].Owner, "kari")
}

// testNoticePages reads the notices of an owner page by page.
func testNoticePages(f *fixture, s store.Snapshot) {
	for _, limit := range []int{1, 2, 4, 5} {
		q := store.HistoryQuery{Network: net, Notices: true, Owner: "eva", Collections: []string{things, others}, Limit: limit}
		var seen []string
		for len(seen) <= 6 {
			notices, err := noticesOf(f.ctx, s, q)
			f.must(err)
			if len(notices) == 0 {
				break
			}
			for _, n := range notices {
				seen = append(seen, fmt.Sprintf("%s@%d.%d", n.ID, n.Version, n.Notice))
			}
			last := notices[len(notices)-1]
			q.After, q.AfterNotice, q.Offset = last.Position, last.Notice, 3 // ignored
			n, err := s.HistoryCount(f.ctx, q)
			f.must(err)
			same(f, "the count of all, behind a position", n, int64(6))
		}
		same(f, fmt.Sprintf("%d at a time", limit), strings.Join(seen, " "), "a@2.0 a@2.1 a@2.2 o@1.0 a@1.0 a@1.1")
	}
}

// noticesOf returns copies of the notices that a snapshot yields.
func noticesOf(ctx context.Context, s store.Snapshot, q store.HistoryQuery) (notices []store.Change, err error) {
	err = s.History(ctx, q, func(n *store.Change) error {
		kept := *n
		kept.Notices = slices.Clone(n.Notices)
		notices = append(notices, kept)
		return nil
	})
	return notices, err
}
