package sqlite

import (
	"context"
	"strings"

	"marquee/engine/query"
	"marquee/engine/store"
)

// Lacking implements store.Snapshot.
func (v *view) Lacking(ctx context.Context, collection string, entries []store.Entry) (lacking []store.Entry, err error) {
	number := "SELECT seq FROM " + table(collection) + " WHERE network=? AND id=?"
	held := "SELECT 1 FROM " + termTable(collection) + " WHERE key=" + termKey + " AND value=? AND record=?"
	for _, entry := range entries {
		record, there := int64(0), false
		err := v.query(ctx, number, []any{entry.Network, entry.ID}, func(s *stmt) error {
			record, there = s.ColumnInt64(0), true
			return nil
		})
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		missing := store.Entry{Key: entry.Key}
		for _, term := range entry.Terms {
			found, sql, args := false, held, []any{term.Key, entry.Network, term.Value, record}
			if strings.HasPrefix(term.Key, query.OrderedKey) {
				sql, args = "SELECT 1 FROM "+orderedTable(collection)+" WHERE o_key="+termKey+" AND o_value=? AND o_record=?", []any{term.Key, entry.Network, term.Value, record}
			}
			err := v.query(ctx, sql, args, func(*stmt) error {
				found = true
				return nil
			})
			if err != nil {
				return nil, err
			}
			if !found {
				missing.Terms = append(missing.Terms, term)
			}
		}
		if len(missing.Terms) > 0 {
			lacking = append(lacking, missing)
		}
	}
	return lacking, nil
}
