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
		s := scope{table: termTable(collection), networkColumn: "network", columns: "network,key,value,record", within: "1", fixed: "key=?1", args: []any{key}}
		if strings.HasPrefix(key, query.OrderedKey) {
			s.table, s.networkColumn, s.columns, s.fixed = orderedTable(collection), "o_network", "o_network,o_key,o_value,o_time,o_id", "o_key=?1"
		}
		all = append(all, s)
	}
	for _, property := range properties {
		all = append(all, scope{table: "claims", networkColumn: "network", columns: "collection,network,property,value", within: "collection=?1", fixed: "collection=?1 AND property=?2", args: []any{collection, property}})
	}
	for _, scope := range all {
		for more := true; more; {
			err := s.writer.submit(ctx, func(t *transaction) (err error) {
				t.touched[collection] = true
				more, err = t.conn.drop(&scope)
				return err
			})
			if err != nil {
				return s.observe(ctx, err)
			}
		}
	}
	return nil
}

// scope selects the rows to drop.
type scope struct {
	// columns are those of the primary key, with the network before the fixed
	// ones.
	table, columns string
	// networkColumn is the column of the network.
	networkColumn string
	// within is the condition on the columns before the network, fixed that on
	// all fixed columns.
	within, fixed string
	args          []any
	// network is the first that may have rows left.
	network string
}

// drop deletes some rows, and reports whether there may be more.
func (c *conn) drop(s *scope) (more bool, err error) {
	args := func() []any { return append(slices.Clone(s.args), s.network) }
	last := len(s.args) + 1
	for work := 0; work < forgetStep; {
		found := false
		next := fmt.Sprintf("SELECT %[4]s FROM %[1]s WHERE %[2]s AND %[4]s>=?%[3]d ORDER BY %[4]s LIMIT 1", s.table, s.within, last, s.networkColumn)
		err := c.rows(next, args(), func(row *stmt) error {
			s.network, found = row.ColumnText(0), true
			return nil
		})
		if err != nil || !found {
			return false, err
		}
		sql := fmt.Sprintf("DELETE FROM %[1]s WHERE (%[2]s) IN (SELECT %[2]s FROM %[1]s WHERE %[3]s AND %[6]s=?%[4]d LIMIT %[5]d)",
			s.table, s.columns, s.fixed, last, forgetStep, s.networkColumn)
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
	t.touched[collection] = true
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
		terms.note(entry.Network, entry.ID, found, entry.Terms, nil)
		for _, claim := range entry.Claims {
			err = errors.Join(err, t.claim(claim, entry.ID))
		}
		if err != nil {
			return t.ended(err)
		}
	}
	return t.ended(terms.write(t.conn, collection))
}
