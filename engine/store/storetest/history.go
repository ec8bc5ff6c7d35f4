package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"marquee/engine/store"
)

func testHistory(f *fixture) {
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
		{store.HistoryQuery{Network: net, Collection: things, IDs: []string{"a", "late", "none"}, Limit: 9}, "n1/things/late@1 n1/things/a@2 n1/things/a@1"},
		{store.HistoryQuery{Network: net, Collection: things, IDs: []string{"b", "a"}, Limit: 1, Offset: 1}, "n1/things/b@1"},
		{store.HistoryQuery{Network: net, Collection: things, IDs: []string{}, Limit: 9}, ""},
		{store.HistoryQuery{Network: net, Collections: []string{}, Limit: 9}, ""},
		{store.HistoryQuery{Network: "n2", Limit: 9}, "n2/things/a@1"},
		{store.HistoryQuery{Network: "", Limit: 9}, "/things/g@1"},
		{store.HistoryQuery{Network: "none", Limit: 9}, ""},
	} {
		same(f, fmt.Sprintf("%+v", c.q), names(f.history(c.q)), c.want)
	}
}

func testHistoryPositions(f *fixture) {
	for _, q := range []store.HistoryQuery{{Network: net}, {Network: net, Collection: things}, {Network: net, Collection: things, ID: "a"},
		{Network: net, Collections: []string{things, others}}} {
		q.Limit = everything
		whole := f.history(q)
		for _, limit := range []int{1, 2, 3} {
			q.Limit, q.After, q.Offset = limit, "", 0
			var seen []store.Change
			for len(seen) <= len(whole) {
				page := f.history(q)
				if len(page) == 0 {
					break
				}
				seen = append(seen, page...)
				q.After, q.Offset = page[len(page)-1].Position, 7 // ignored
			}
			same(f, fmt.Sprintf("%d at a time of %+v", limit, q), names(seen), names(whole))
		}
	}
	enough := errors.New("enough")
	f.read(func(s store.Snapshot) {
		n := 0
		err := s.History(f.ctx, store.HistoryQuery{Network: net, Limit: 9}, func(*store.Change) error { n++; return enough })
		same(f, "an error of yield", fmt.Sprint(n, errors.Is(err, enough)), "1 true")
		// The snapshot stays readable.
		changes, err := history(f.ctx, s, store.HistoryQuery{Network: net, Limit: 2})
		f.must(err)
		same(f, "after it", names(changes), "n1/things/late@1 n1/things/a@2")
	})
}

func (f *fixture) history(q store.HistoryQuery) (changes []store.Change) {
	f.Helper()
	f.read(func(s store.Snapshot) {
		var err error
		changes, err = history(f.ctx, s, q)
		f.must(err)
	})
	return changes
}

// history returns copies of the changes that a snapshot yields.
func history(ctx context.Context, s store.Snapshot, q store.HistoryQuery) (changes []store.Change, err error) {
	err = s.History(ctx, q, func(c *store.Change) error {
		kept := *c
		kept.Fields, kept.Cause, kept.Notices = slices.Clone(c.Fields), slices.Clone(c.Cause), slices.Clone(c.Notices)
		changes = append(changes, kept)
		return nil
	})
	return changes, err
}
