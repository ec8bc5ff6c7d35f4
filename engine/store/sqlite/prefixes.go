package sqlite

import (
	"context"
	"slices"
)

// commonPrefixes returns the conditions on a prefix of a plan that reads more than few records.
func (p plan) commonPrefixes() (prefixes []int) {
	for i, condition := range p.conditions {
		if condition.prefix && !p.few {
			prefixes = append(prefixes, i)
		}
	}
	return prefixes
}

// intersect replaces the conditions on common prefixes by one on the records that meet all of
// them. SQLite would list the records of each prefix in an index, which takes a hundred times the
// memory of a set, and look up each record in each index. If few records meet some of the
// conditions, the others are compared with their documents.
func (v *view) intersect(ctx context.Context, p *plan) error {
	prefixes := p.commonPrefixes()
	if err := v.rarestFirst(ctx, p, prefixes); err != nil || len(prefixes) == 0 {
		return err
	}
	met := &recordSet{}
	p.conditions = slices.Clone(p.conditions)
	for done, i := range prefixes {
		rows, next := p.conditions[i].terms, &recordSet{}
		err := v.query(ctx, "SELECT record"+rows.sql, rows.args, func(s *stmt) error {
			if n := s.ColumnInt64(0); done == 0 || met.has(n) {
				next.add(n)
			}
			return nil
		})
		if err != nil {
			return err
		}
		met, p.conditions[i] = next, condition{clause: clause{sql: "1"}}
		if p.few = met.length <= v.compared(); p.few {
			break
		}
	}
	if p.few || met.length <= v.listed() {
		p.driver = prefixes[0]
		p.conditions[p.driver].terms = clause{" FROM (SELECT value AS record FROM json_each(?))", []any{met.json()}}
	} else {
		p.conditions[prefixes[0]].clause = clause{"among(?,seq)", []any{met}}
	}
	return nil
}

// compared is the maximum number of records whose documents are compared with prefixes.
func (v *view) compared() int { return max(1, 4*v.s.rare) }

// listed is the maximum number of records that are listed, and sorted. A walk would find more of
// them before the end of the order.
func (v *view) listed() int { return 50 * v.s.rare }

// rarestFirst moves the rarest of several prefixes to the front if its records can be listed. All
// are counted up to a limit that grows until one has fewer terms.
func (v *view) rarestFirst(ctx context.Context, p *plan, prefixes []int) error {
	for limit := v.compared(); len(prefixes) > 1 && limit <= v.listed(); limit *= 4 {
		first, least := 0, limit+1
		for at, i := range prefixes {
			n, err := v.countRows(ctx, p.conditions[i].terms, least)
			if err != nil {
				return err
			}
			if n < least {
				first, least = at, n
			}
		}
		if least <= limit {
			prefixes[0], prefixes[first] = prefixes[first], prefixes[0]
			return nil
		}
	}
	return nil
}
