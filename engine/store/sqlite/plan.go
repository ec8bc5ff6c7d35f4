package sqlite

import (
	"context"

	"marquee/engine/query"
)

// plan is a compiled query and the index of the condition on terms whose
// records are listed first; -1 leaves the choice to SQLite. Merged is the index of
// the condition on ordered terms whose ranges are merged, or -1. Few reports whether
// few records are read, because the query names them or one of its terms is rare.
type plan struct {
	compiled
	driver, merged int
	few            bool
}

// defaultRare is the maximum number of records of a rare term. Listing and
// sorting these is faster than to walk the order, or another index, and to
// look up the term of each record.
const defaultRare = 2000

// plan chooses the rarest of the terms that the query demands, for finding its
// records or for counting them, unless the query names the records.
func (v *view) plan(ctx context.Context, q query.Query, count bool) (plan, error) {
	p := plan{compiled: compile(q), driver: -1, merged: -1}
	if p.few = p.byID(); p.few {
		return p, nil
	}
	least := v.s.rare + 1
	ordered := p.chooseOrdered(count)
	for i, condition := range p.conditions {
		if condition.terms.sql == "" || condition.ordered != nil && ordered >= 0 {
			continue
		}
		n, err := v.countRows(ctx, condition.terms, least)
		if err != nil {
			return p, err
		}
		if n < least {
			p.driver, least = i, n
		}
	}
	if p.few = p.driver >= 0; !p.few && len(p.commonPrefixes()) == 0 {
		p.merged = ordered
	}
	return p, nil
}

// countRows counts rows up to a limit.
func (v *view) countRows(ctx context.Context, rows clause, limit int) (n int, err error) {
	sql := "SELECT count(*) FROM (SELECT 1" + rows.sql + " LIMIT ?)"
	err = v.query(ctx, sql, append(rows.args[:len(rows.args):len(rows.args)], limit), func(s *stmt) error {
		n = s.ColumnInt(0)
		return nil
	})
	return n, err
}
