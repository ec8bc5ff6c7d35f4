package storetest

import (
	"fmt"
	"strings"
	"testing"

	"marquee/engine/store"
)

// testNotices proves that owners are told of changes, each of his own.
func testNotices(t *testing.T, h Harness) {
	f := open(t, h)
	told := func(c store.Change, owner string, texts ...string) store.Change {
		c.Owner = owner
		for i, text := range texts {
			texts[i] = fmt.Sprintf(`{"code":"w.%s","params":{"a.b":1,"$c":"ä"}}`, text)
		}
		c.Notices = []byte("[" + strings.Join(texts, ",") + "]")
		return c
	}
	f.must(f.write(func(tx store.Tx) error {
		return tx.Append(f.ctx, []store.Change{change(net, things, "none", 1), told(change(net, things, "a", 1), "eva", "1", "2"),
			told(change(net, things, "b", 1), "kari", "3"), told(change("n2", things, "a", 1), "eva", "4")})
	}))
	f.must(f.write(func(tx store.Tx) error {
		return tx.Append(f.ctx, []store.Change{told(change(net, others, "o", 1), "eva", "5"), told(change(net, things, "a", 2), "eva", "6", "7", "8")})
	}))
	for _, c := range []struct {
		q     store.NoticeQuery
		want  string
		count int64
	}{
		{store.NoticeQuery{Network: net, Owner: "eva", Collections: []string{things, others}, Limit: 9}, "a@2:6 a@2:7 a@2:8 o@1:5 a@1:1 a@1:2", 6},
		{store.NoticeQuery{Network: net, Owner: "eva", Collections: []string{things, others}, Offset: 1, Limit: 4}, "a@2:7 a@2:8 o@1:5 a@1:1", 6},
		{store.NoticeQuery{Network: net, Owner: "eva", Collections: []string{things, others}, Offset: 6, Limit: 4}, "", 6},
		{store.NoticeQuery{Network: net, Owner: "eva", Collections: []string{things}, Limit: 9}, "a@2:6 a@2:7 a@2:8 a@1:1 a@1:2", 5},
		{store.NoticeQuery{Network: net, Owner: "eva", Collections: []string{}, Limit: 9}, "", 0},
		{store.NoticeQuery{Network: "n2", Owner: "eva", Collections: []string{things}, Limit: 9}, "a@1:4", 1},
		{store.NoticeQuery{Network: net, Owner: "kari", Collections: []string{things, others}, Limit: 9}, "b@1:3", 1},
		{store.NoticeQuery{Network: net, Owner: "", Collections: []string{things, others}, Limit: 9}, "", 0},
	} {
		f.read(func(s store.Snapshot) {
			notices, err := s.Notices(f.ctx, c.q)
			f.must(err)
			var seen []string
			for _, n := range notices {
				text, _, _ := strings.Cut(strings.TrimPrefix(string(n.Text), `{"code":"w.`), `"`)
				seen = append(seen, fmt.Sprintf("%s@%d:%s", n.ID, n.Version, text))
			}
			same(f, fmt.Sprintf("%+v", c.q), strings.Join(seen, " "), c.want)
			count, err := s.NoticeCount(f.ctx, c.q)
			f.must(err)
			same(f, fmt.Sprintf("the count of %+v", c.q), count, c.count)
		})
	}
	f.read(func(s store.Snapshot) {
		notices, err := s.Notices(f.ctx, store.NoticeQuery{Network: net, Owner: "kari", Collections: []string{things}, Limit: 1})
		f.must(err)
		want := told(change(net, things, "b", 1), "kari", "3")
		text := want.Notices[1 : len(want.Notices)-1]
		want.Position, want.Fields, want.Notices = notices[0].Position, nil, nil
		same(f, "a notice", notices[0].Change, want)
		same(f, "its text", string(notices[0].Text), string(text))
	})
	changes := f.history(store.HistoryQuery{Network: net, Collection: things, ID: "b", Limit: 1})
	same(f, "the owner in the history", changes[0].Owner, "kari")
}
