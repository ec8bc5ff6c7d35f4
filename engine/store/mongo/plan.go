package mongo

import (
	"context"
	"slices"
)

// maxRare is the maximum number of records of a rare term. Listing and sorting
// these is faster than to walk the order, or another index, and to look up the
// term of each record.
const maxRare = 2000

// maxMerged is the number of ordered terms whose ranges MongoDB merges. It sorts the
// records of more than 200.
const maxMerged = 200

// chooseIndex names the index that is certain to be best for finding the records
// of a query, or for counting them; "" leaves the choice to MongoDB, which tries
// several and keeps one for all queries that differ in their values alone.
func (v *view) chooseIndex(ctx context.Context, c compiled, count bool) (string, error) {
	known := v.s.indexes(c.Collection)
	if known == nil {
		return "", nil
	}
	if c.byID {
		return indexID, nil
	}
	order := c.order
	if count {
		order = keyID
	}
	best := best(known, c.fixed, order)
	if best != nil && len(best.equal) > 0 {
		return best.name, nil
	}
	for _, term := range c.terms {
		n, err := v.count(ctx, c.Collection, term, maxRare+1, termsIndex.name)
		if err != nil {
			return "", err
		}
		if n <= maxRare {
			return termsIndex.name, nil
		}
	}
	if c.ordered > 0 && (count || c.order == fieldCreateTime && c.ordered <= maxMerged) {
		return orderedIndex.name, nil
	}
	switch {
	case best == nil,
		count && (!c.onlyState || len(c.terms) > 0),
		c.ordered > 0,
		!c.onlyState && len(c.terms) == 0 && c.After == nil:
		return "", nil
	}
	return best.name, nil
}

// best is the index that uses most of the fixed paths, and of several the one
// that has the order.
func best(known []index, fixed []string, order string) (best *index) {
	most := 0
	for i := range known {
		if slices.ContainsFunc(known[i].equal, func(field string) bool { return !slices.Contains(fixed, field) }) {
			continue
		}
		score := 2 * len(known[i].equal)
		if known[i].order == order {
			score++
		}
		if score > most {
			best, most = &known[i], score
		}
	}
	return best
}
