package sqlite

import (
	"fmt"

	"marquee/engine/query"
)

// segment is a part of a query's order: a condition on the key of the order.
// Together, the segments are all records behind the position, and each is a
// range of an index.
type segment struct {
	clause
	// byID reports whether all keys are equal, so that the id alone orders.
	// SQLite does not notice that, and would sort.
	byID bool
}

// segments returns the segments of a query in order: at most two, the records
// without a key, which come first in ascending order, and the others.
func (c compiled) segments() []segment {
	if c.After == nil {
		return []segment{{}}
	}
	after, atLeast := ">", ">="
	if c.Order.Descending {
		after, atLeast = "<", "<="
	}
	if c.Order.Field.System == query.ID {
		return []segment{{clause: clause{"id" + after + "?", []any{c.After.ID}}}}
	}
	// All values are at least -9e999, which is less than any number: unlike IS
	// NOT NULL, this is a range of an index.
	absent, present := segment{clause: clause{sql: c.order + " IS NULL"}, byID: true}, segment{clause: clause{sql: c.order + ">=-9e999"}}
	if c.after == nil {
		absent.sql += " AND id" + after + "?"
		absent.args = []any{c.After.ID}
	} else {
		present.sql = fmt.Sprintf("%[1]s%[3]s? AND (%[1]s%[2]s? OR id%[2]s?)", c.order, after, atLeast)
		present.args = []any{c.after, c.after, c.After.ID}
	}
	switch {
	case c.Order.Field.System != query.NotSystem:
		return []segment{present}
	case c.Order.Descending && c.after == nil:
		return []segment{absent}
	case c.Order.Descending:
		return []segment{present, absent}
	case c.after == nil:
		return []segment{absent, present}
	}
	return []segment{present}
}

// findSQL is the statement that selects at most limit records of a segment.
func (p plan) findSQL(within segment, limit int) (string, []any) {
	c := p.where()
	if within.sql != "" {
		c.WriteString(" AND ")
		c.add(within.clause)
	}
	direction := ""
	if p.Order.Descending {
		direction = " DESC"
	}
	order := "id" + direction
	if p.Order.Field.System != query.ID && !within.byID {
		order = p.order + direction + "," + order
	}
	sql := "SELECT " + recordColumns + " FROM " + p.source() + " WHERE " + c.String() + " ORDER BY " + order + " LIMIT ?"
	args := append(c.args, limit)
	if p.Offset > 0 && p.After == nil {
		sql += " OFFSET ?"
		args = append(args, p.Offset)
	}
	return sql, args
}

// countSQL is the statement that counts the records of a query.
func (p plan) countSQL() (string, []any) {
	if p.merged >= 0 {
		return p.countMergedSQL()
	}
	c := p.where()
	return "SELECT count(*) FROM " + p.source() + " WHERE " + c.String(), c.args
}

// source is the table of the records, with the index that a query by ids uses: SQLite
// would walk a network in the order of the list.
func (p plan) source() string {
	if p.few && p.driver < 0 {
		return table(p.Collection) + " INDEXED BY k_" + p.Collection
	}
	return table(p.Collection)
}

// where writes the conditions of a plan.
func (p plan) where() *compiler {
	c := &compiler{}
	if p.driver >= 0 {
		// Left alone, SQLite prefers an index to a list of records. All indexes
		// begin with the network, and the plus hides it from them.
		c.WriteByte('+')
	}
	c.arg("network=?", p.Network)
	for i, condition := range p.conditions {
		c.WriteString(" AND ")
		switch {
		case i == p.driver:
			c.add(amongTerms(condition.terms))
		case p.few && condition.read.sql != "":
			c.add(condition.read)
		default:
			c.add(condition.clause)
		}
	}
	return c
}
