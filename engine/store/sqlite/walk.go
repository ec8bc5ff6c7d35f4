package sqlite

import (
	"context"
	"slices"
	"strings"

	"marquee/engine/query"
	"marquee/engine/store"
)

// defaultWalked is the number of records of which a page of a common word looks for the
// word in the order of the list. Where fewer than one in ten have it, or those that have
// it come last, the rest of the page is found among all that have it (intersect).
const defaultWalked = 1000

// walks reports whether the plan has a prefix that is common, and an order in which all
// records can be read.
func (p plan) walks() bool {
	if len(p.commonPrefixes()) == 0 || slices.ContainsFunc(p.conditions, func(c condition) bool { return c.property || c.prefix && c.read.sql == "" }) {
		return false
	}
	switch p.Order.Field.System {
	case query.CreateTime, query.UpdateTime, query.ID:
		return true
	}
	return false
}

// walk yields those of the next records in the order of the list that meet all conditions.
// Unless it is done, the plan goes on behind them.
func (v *view) walk(ctx context.Context, p *plan, yield func(*store.Record) error) (done bool, err error) {
	skip, read, remaining := 0, 0, p.Limit
	if p.After == nil {
		skip = p.Offset
	}
	if skip+p.Limit > v.s.walked {
		return false, nil
	}
	var record store.Record
	sql, args := p.walkSQL(v.s.walked)
	err = v.query(ctx, sql, args, func(s *stmt) error {
		read++
		s.record(&record)
		switch {
		case !s.ColumnBool(hitColumn):
			return nil
		case skip > 0:
			skip--
			return nil
		}
		if err := yield(&record); err != nil {
			return err
		}
		if remaining--; remaining == 0 {
			return errEnough
		}
		return nil
	})
	switch {
	case err == errEnough, err == nil && read < v.s.walked:
		return true, nil
	case err != nil:
		return false, err
	case skip > 0: // nothing has been yielded
		return false, nil
	}
	next := p.Query
	next.After, next.Limit = store.PositionOf(p.Order.Field, &record), remaining
	p.compiled = compile(next)
	return false, nil
}

// hitColumn is the column that follows those of the record in a walk.
const hitColumn = seqColumn

// walkSQL is the statement that reads records in the order of the list, and whether each
// meets the conditions.
func (p plan) walkSQL(limit int) (string, []any) {
	hits := &compiler{}
	for i, condition := range p.conditions {
		if i > 0 {
			hits.WriteString(" AND ")
		}
		if condition.read.sql != "" {
			hits.add(condition.read)
		} else {
			hits.add(condition.clause)
		}
	}
	all := p
	all.conditions, all.Offset = nil, 0
	sql, args := all.findSQL(p.segments()[0], limit) // the only one, as every record has the field
	sql = strings.Replace(sql, " FROM ", ","+hits.String()+" FROM ", 1)
	return sql, append(hits.args, args...)
}
