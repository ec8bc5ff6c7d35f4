package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"marquee/engine/query"
	"marquee/engine/store"
)

// Scan implements store.Snapshot.
func (v *view) Scan(ctx context.Context, collection string, after store.Key, limit int, yield func(*store.Record) error) error {
	var record store.Record
	sql := "SELECT " + recordColumns + " FROM " + table(collection) + " WHERE (network,id)>(?,?) ORDER BY network,id LIMIT ?"
	return v.query(ctx, sql, []any{after.Network, after.ID, limit}, func(s *stmt) error {
		s.record(&record)
		return yield(&record)
	})
}

// forgetStep is the number of rows that one transaction drops.
const forgetStep = 1000

// Forget implements store.Store.
func (s *Store) Forget(ctx context.Context, collection string, terms, properties []string) error {
	var all []scope
	for _, key := range terms {
		const ofKey = "=(SELECT number FROM term_keys WHERE key=?1 AND network=?2)"
		s := scope{table: termTable(collection), columns: "key,value,record", rows: "key" + ofKey, within: "term_keys WHERE key=?1", args: []any{key}}
		if strings.HasPrefix(key, query.OrderedKey) {
			s.table, s.columns, s.rows = orderedTable(collection), "o_key,o_value,o_time,o_id", "o_key"+ofKey
		}
		all = append(all, s)
	}
	for _, property := range properties {
		all = append(all, scope{table: "claims", columns: "collection,network,property,value",
			rows: "collection=?1 AND property=?2 AND network=?3", within: "claims WHERE collection=?1", args: []any{collection, property}})
	}
	for _, rest := range all {
		for more := true; more; {
			var left scope
			err := s.writer.submit(ctx, func(t *transaction) (err error) {
				t.touch(collection)
				left = rest // it may run again
				more, err = t.conn.drop(&left)
				return err
			})
			rest = left
			if err != nil {
				return s.observe(ctx, err)
			}
		}
	}
	return nil
}

// scope selects the rows to drop.
type scope struct {
	// columns are those of the primary key, rows the condition on a network's rows.
	table, columns, rows string
	// within is the table, with a condition, that has the networks.
	within string
	// args are the parameters before the network.
	args []any
	// network is the first that may have rows left.
	network string
}

// drop deletes some rows, and reports whether there may be more.
func (c *conn) drop(s *scope) (more bool, err error) {
	args := func() []any { return append(slices.Clone(s.args), s.network) }
	last := len(s.args) + 1
	for work := 0; work < forgetStep; {
		found := false
		next := fmt.Sprintf("SELECT network FROM %s AND network>=?%d ORDER BY network LIMIT 1", s.within, last)
		err := c.rows(next, args(), func(row *stmt) error {
			s.network, found = row.ColumnText(0), true
			return nil
		})
		if err != nil || !found {
			return false, err
		}
		sql := fmt.Sprintf("DELETE FROM %[1]s WHERE (%[2]s) IN (SELECT %[2]s FROM %[1]s WHERE %[3]s LIMIT %[4]d)", s.table, s.columns, s.rows, forgetStep)
		if err := c.run(sql, args()...); err != nil {
			return false, err
		}
		dropped := int(c.db.Changes())
		if work += dropped + 1; dropped < forgetStep {
			s.network += "\x00" // the next text
		}
	}
	return true, nil
}

// Index implements store.Tx.
func (t *transaction) Index(ctx context.Context, collection string, entries []store.Entry) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	t.touch(collection)
	var terms termChanges
	find := "SELECT seq,create_time,state FROM " + table(collection) + " WHERE network=? AND id=?"
	for _, entry := range entries {
		var found row
		err := t.conn.rows(find, []any{entry.Network, entry.ID}, func(s *stmt) error {
			found = row{seq: s.ColumnInt64(0), created: s.ColumnInt64(1), state: s.ColumnText(2)}
			return nil
		})
		if err == nil && found.seq == 0 {
			err = errVersion
		}
		if err == nil {
			err = terms.note(t.conn, entry.Network, entry.ID, found, entry.Terms, nil)
		}
		for _, claim := range entry.Claims {
			err = errors.Join(err, t.claim(claim, entry.ID))
		}
		if err != nil {
			return t.ended(err)
		}
	}
	return t.ended(terms.write(t.conn, collection))
}
