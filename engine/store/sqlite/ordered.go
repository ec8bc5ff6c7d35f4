package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"marquee/engine/query"
	"marquee/engine/store"
)

// Terms with ordered keys (query.OrderedKey) are in a table of their own, in the
// order of creation of their records. The table repeats the id, the time and the
// state of the record, so that lists and counts are ranges of it.

func orderedTable(collection string) string { return "o_" + collection }

// ensureOrdered creates the table of ordered terms of a collection. Its columns
// have a prefix, because they are joined with those of the records.
func (c *conn) ensureOrdered(collection string) error {
	return c.exec(fmt.Sprintf(`CREATE TABLE %[1]s (o_key INTEGER NOT NULL, o_value TEXT NOT NULL,
	o_time INTEGER NOT NULL, o_id TEXT NOT NULL, o_state TEXT NOT NULL, o_record INTEGER NOT NULL,
	PRIMARY KEY (o_key, o_value, o_time, o_id)) WITHOUT ROWID;
CREATE INDEX or_%[2]s ON %[1]s (o_record, o_key, o_value);`, orderedTable(collection), collection))
}

// orderedRow is a row of the table of ordered terms.
type orderedRow struct {
	termRow
	time      int64
	id, state string
}

// orderedChanges collects rows to add to a table of ordered terms and to drop from
// it.
type orderedChanges struct{ add, drop []orderedRow }

func (c *orderedChanges) write(conn *conn, collection string) error {
	defer func() { c.add, c.drop = c.add[:0], c.drop[:0] }()
	drop := "DELETE FROM " + orderedTable(collection) + " WHERE o_record=? AND o_key=? AND o_value=?"
	for _, r := range sortOrdered(c.drop) {
		if err := conn.run(drop, r.record, r.key, r.value); err != nil {
			return err
		}
	}
	insert := "INSERT OR IGNORE INTO " + orderedTable(collection) + " (o_key,o_value,o_time,o_id,o_state,o_record) VALUES (?,?,?,?,?,?)"
	for _, r := range sortOrdered(c.add) {
		if err := conn.run(insert, r.key, r.value, r.time, r.id, r.state, r.record); err != nil {
			return err
		}
	}
	return nil
}

func sortOrdered(rows []orderedRow) []orderedRow {
	slices.SortFunc(rows, func(a, b orderedRow) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value),
			cmp.Compare(a.time, b.time), cmp.Compare(a.id, b.id))
	})
	return rows
}

// restate notes the new state of a record in its ordered terms.
func (c *conn) restate(collection string, record int64, state string) error {
	return c.run("UPDATE "+orderedTable(collection)+" SET o_state=? WHERE o_record=?", state, record)
}

// OrderedTerms implements store.Snapshot.
func (v *view) OrderedTerms(ctx context.Context, collection string, keys []store.Key) (map[store.Key][]store.Term, error) {
	found := map[store.Key][]store.Term{}
	from := table(collection) + " CROSS JOIN " + orderedTable(collection) + " ON o_record=seq"
	err := v.byKeys(ctx, from, keys, "id,(SELECT key FROM term_keys WHERE number=o_key),o_value", func(network string, s *stmt) error {
		key := store.Key{Network: network, ID: s.ColumnText(0)}
		found[key] = append(found[key], store.Term{Key: s.ColumnText(1), Value: s.ColumnText(2)})
		return nil
	})
	return found, err
}

// maxMerged is the number of ordered terms whose ranges are merged. The ranges of
// more are not in the order of the list when they are read.
const maxMerged = 100

// orderedRange writes the condition of a range on the table of ordered terms.
func (c *compiler) orderedRange(terms query.Terms) {
	c.arg("o_key="+termKey+" AND o_value ", terms.Key, c.network)
	c.oneOf(terms.Values)
}

// apart returns a range for each value.
func apart(ranges []query.Terms) (each []query.Terms) {
	for _, terms := range ranges {
		for i := range terms.Values {
			each = append(each, query.Terms{Key: terms.Key, Values: terms.Values[i : i+1]})
		}
	}
	return each
}

// chooseOrdered returns the condition on ordered terms that can drive a plan, or -1.
func (p *plan) chooseOrdered(count bool) int {
	chosen := -1
	for i, condition := range p.conditions {
		if condition.property {
			return -1
		}
		if condition.ordered != nil {
			chosen = i
		}
	}
	if chosen < 0 {
		return -1
	}
	inOrder := p.Order.Field.System == query.CreateTime && len(apart(p.conditions[chosen].ordered)) <= maxMerged
	if !count && !inOrder {
		return -1
	}
	return chosen
}

// byID reports whether a condition names the records by id.
func (p *plan) byID() bool {
	return slices.ContainsFunc(p.conditions, func(c condition) bool { return c.byID })
}

// mergedColumns are recordColumns with the values that the table of ordered terms
// repeats, so that SQLite merges the ranges without sorting.
var mergedColumns = strings.NewReplacer(",id,", ",o_id,", ",create_time,", ",o_time,").Replace(recordColumns)

// mergedSQL is the statement that selects the records of a plan by its ordered terms.
// It yields a record once for each of the terms that it has, one directly after the
// other.
func (p plan) mergedSQL() (string, []any) {
	c, direction := &compiler{network: p.Network}, ""
	if p.Order.Descending {
		direction = " DESC"
	}
	for i, terms := range apart(p.conditions[p.merged].ordered) {
		if i > 0 {
			c.WriteString(" UNION ALL ")
		}
		c.WriteString("SELECT " + mergedColumns)
		p.fromOrdered(c, terms)
	}
	c.WriteString(" ORDER BY 6" + direction + ",2" + direction)
	return c.String(), c.args
}

// fromOrdered writes the part of a statement behind its columns: the records that have
// ordered terms, come after the position and meet the other conditions.
func (p plan) fromOrdered(c *compiler, terms query.Terms) {
	c.WriteString(" FROM " + orderedTable(p.Collection) + " CROSS JOIN " + table(p.Collection) + " ON seq=o_record WHERE ")
	c.orderedRange(terms)
	if p.After != nil {
		than := ">"
		if p.Order.Descending {
			than = "<"
		}
		c.arg(" AND (o_time,o_id)"+than+"(?,?)", p.after, p.After.ID)
	}
	for i, condition := range p.conditions {
		if i != p.merged {
			c.WriteString(" AND ")
			c.add(condition.clause)
		}
	}
}

// countMergedSQL is the statement that counts the records of a plan by its ordered
// terms. It reads no record where the other conditions are on the state.
func (p plan) countMergedSQL() (string, []any) {
	p.After = nil // of which a count is regardless
	c, ranges := &compiler{network: p.Network}, p.conditions[p.merged].ordered
	what := "count(*)"
	if p.conditions[p.merged].multiple {
		what = "count(DISTINCT o_record)"
	}
	c.WriteString("SELECT " + what)
	for i, terms := range ranges {
		if len(ranges) > 1 {
			c.WriteString([]string{" FROM (", " UNION ALL "}[min(i, 1)] + "SELECT o_record")
		}
		p.countedRange(c, terms)
	}
	if len(ranges) > 1 {
		c.WriteByte(')')
	}
	return c.String(), c.args
}

// countedRange writes the part of a statement behind its columns: the records that are counted
// by ordered terms.
func (p plan) countedRange(c *compiler, terms query.Terms) {
	for i, condition := range p.conditions {
		if i != p.merged && !condition.onState {
			p.fromOrdered(c, terms)
			return
		}
	}
	c.WriteString(" FROM " + orderedTable(p.Collection) + " WHERE ")
	c.orderedRange(terms)
	for i, condition := range p.conditions {
		if i != p.merged {
			c.WriteString(" AND ")
			c.arg(strings.ReplaceAll(condition.sql, "state", "o_state"), condition.args...)
		}
	}
}

// findMerged yields a page of a plan by its ordered terms.
func (v *view) findMerged(ctx context.Context, p plan, yield func(*store.Record) error) error {
	remaining, skip, last := p.Limit, 0, ""
	if p.After == nil {
		skip = p.Offset
	}
	if remaining <= 0 || len(apart(p.conditions[p.merged].ordered)) == 0 {
		return nil
	}
	var record store.Record
	sql, args := p.mergedSQL()
	err := v.query(ctx, sql, args, func(s *stmt) error {
		if id := s.ColumnText(1); id == last {
			return nil
		} else if last = id; skip > 0 {
			skip--
			return nil
		}
		s.record(&record)
		if err := yield(&record); err != nil {
			return err
		}
		if remaining--; remaining == 0 {
			return errEnough
		}
		return nil
	})
	if err == errEnough {
		return nil
	}
	return err
}

// errEnough ends a statement whose further rows are not needed.
var errEnough = fmt.Errorf("sqlite: enough rows")
