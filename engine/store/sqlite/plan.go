package sqlite

import (
	"context"

	"marquee/engine/query"
)

// plan is a query whose condition is split into what must hold together, and
// the one of these conditions, a term that few records have, by which the
// records are found; -1 leaves that to SQLite.
type plan struct {
	query.Query
	conjuncts []query.Expr
	driver    int
}

// defaultFew is up to how many records it is better to find all that have a
// term and to bring them into order, than to walk the order, or another index,
// and to look for the term of each.
const defaultFew = 2000

// plan counts, up to a few, the records that have each term which the query
// demands.
func (v *view) plan(ctx context.Context, q query.Query) (plan, error) {
	p := plan{Query: q, conjuncts: conjuncts(q.Where), driver: -1}
	least := v.s.few + 1
	for i, e := range p.conjuncts {
		if !termCondition(e) {
			continue
		}
		c := &compiler{collection: q.Collection, network: q.Network}
		c.WriteString("SELECT count(*) FROM (SELECT 1")
		c.termRows(e)
		c.arg(" LIMIT ?)", least)
		n := 0
		err := v.query(ctx, c.String(), c.args, func(s *stmt) error {
			n = s.ColumnInt(0)
			return nil
		})
		if err != nil {
			return p, err
		}
		if n < least {
			p.driver, least = i, n
		}
	}
	if p.driver < 0 {
		p.driver = p.onlyWord()
	}
	return p, nil
}

// onlyWord is the beginning of a word when nothing but terms and system fields
// is asked for besides, else -1: the records that have it are listed anyway,
// and no other index is better.
func (p plan) onlyWord() int {
	word := -1
	for i, e := range p.conjuncts {
		switch e := e.(type) {
		case query.Term:
			if e.Prefix {
				word = i
			}
		case query.In:
			if e.Field.System == query.NotSystem && !areTerms(e) {
				return -1
			}
		case query.Compare:
			if e.Field.System == query.NotSystem && !isTerm(e) {
				return -1
			}
		}
	}
	return word
}

// conjuncts are the conditions that must all hold.
func conjuncts(e query.Expr) []query.Expr {
	and, ok := e.(query.And)
	if !ok {
		if e == nil {
			return nil
		}
		return []query.Expr{e}
	}
	var all []query.Expr
	for _, part := range and {
		all = append(all, conjuncts(part)...)
	}
	return all
}

// termCondition reports whether a condition is answered from terms.
func termCondition(e query.Expr) bool {
	switch e := e.(type) {
	case query.Compare:
		return isTerm(e)
	case query.In:
		return areTerms(e)
	case query.Term:
		return true
	}
	return false
}

// termRows writes the rows of the terms that meet a condition.
func (c *compiler) termRows(e query.Expr) {
	key := func(key string) {
		c.WriteString(" FROM " + termTable(c.collection) + " WHERE network=? AND key=?")
		c.args = append(c.args, c.network, key)
	}
	switch e := e.(type) {
	case query.Compare:
		key(e.Field.Term)
		c.arg(" AND value=?", e.Value)
	case query.In:
		key(e.Field.Term)
		c.values(" AND value", e)
	case query.Term:
		key(e.Key)
		if e.Prefix {
			c.arg(" AND value>=?", e.Value)
			c.arg(" AND value<?", e.Value+"\xff") // no UTF-8 text has this byte
		} else {
			c.arg(" AND value=?", e.Value)
		}
	}
}

// drive writes that a record is one of those with a term: they are found first.
func (c *compiler) drive(e query.Expr) {
	c.WriteString("seq IN (SELECT record")
	c.termRows(e)
	c.WriteByte(')')
}

// hasTerm writes that a record has a term, to be looked up for each record: but
// for the beginning of a word, which would walk all words that begin so.
func (c *compiler) hasTerm(e query.Expr) {
	if term, ok := e.(query.Term); ok && term.Prefix {
		c.drive(e)
		return
	}
	c.WriteString("EXISTS(SELECT 1")
	c.termRows(e)
	c.WriteString(" AND record=seq)")
}
