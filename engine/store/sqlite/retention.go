package sqlite

import (
	"context"
	"time"

	"marquee/engine/store"
)

// RemoveChanges implements store.Tx. The last change stays, as it is the end of the feed.
func (t *transaction) RemoveChanges(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := t.guard(ctx); err != nil {
		return 0, err
	}
	if err := t.grow(limit); err != nil {
		return 0, err
	}
	var last int64
	var tallies store.TallyChanges
	n, young := 0, false
	sql := "SELECT seq,time,network,collection,feed_only FROM changes WHERE seq<(SELECT max(seq) FROM changes) ORDER BY seq LIMIT ?"
	err := t.conn.rows(sql, []any{limit}, func(s *stmt) error {
		if young = young || s.ColumnInt64(1) >= before.UnixMilli(); young {
			return nil
		}
		n, last = n+1, s.ColumnInt64(0)
		if !s.ColumnBool(4) {
			tallies.Add(store.Place{Collection: historyTally, Network: s.ColumnText(2)}, s.ColumnText(3), -1)
		}
		return nil
	})
	if err != nil || n == 0 {
		return 0, t.ended(err)
	}
	t.tallies = append(t.tallies, tallies...)
	return n, t.ended(t.conn.run("DELETE FROM changes WHERE seq<=?", last))
}

// reaches returns an error with CodeTooOld if changes behind a position have been removed.
// The numbers of changes have no gaps.
func (v *view) reaches(ctx context.Context, position int64) error {
	first := position + 1
	err := v.query(ctx, "SELECT seq FROM changes ORDER BY seq LIMIT 1", nil, func(s *stmt) error {
		first = s.ColumnInt64(0)
		return nil
	})
	if err == nil && first > position+1 {
		err = &store.Error{Code: store.CodeTooOld, Text: "changes behind the position have been removed"}
	}
	return err
}
