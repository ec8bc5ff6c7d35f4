package plan

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/query"
	"marquee/engine/store/mongo/record"
)

// maxRare is the maximum number of records of a rare term. Listing and sorting
// these is faster than to walk the order, or another index, and to look up the
// term of each record.
const maxRare = 2000

// maxMerged is the number of ordered terms whose ranges MongoDB merges. It sorts the
// records of more than 200.
const maxMerged = 200

// features are what matters of a query's conditions for the choice of an index.
type features struct {
	// terms are the conditions that the index of terms answers, and fixed the paths
	// that must equal one value.
	terms []any
	fixed []string
	// ordered is the number of terms of a condition on ordered terms, 0 for none.
	ordered int
	// byID reports whether a condition names records by id, and onlyState
	// whether all conditions but those on terms are on the state, which every
	// index holds.
	byID, onlyState bool
}

func (c Compiled) features() features {
	f := features{onlyState: true}
	for i, e := range c.parts {
		if ranges := query.Ranges(e); ranges != nil {
			f.ordered = 0
			for _, terms := range ranges {
				f.ordered += len(terms.Values)
			}
			continue
		}
		if _, ok := query.TermsOf(e); ok {
			f.terms = append(f.terms, c.conditions[i])
			continue
		}
		if compare, ok := e.(query.Compare); ok && compare.Op == query.Equal && !compare.Field.Multiple() {
			f.fixed = append(f.fixed, path(compare.Field))
		}
		_, onState := query.StateFilter(e)
		f.byID, f.onlyState = f.byID || query.NamesIDs(e), f.onlyState && onState
	}
	return f
}

// ChooseIndex names the index that is certain to be best for finding the records
// of a query, or for counting them; "" leaves the choice to MongoDB, which tries
// several and keeps one for all queries that differ in their values alone. Known are the
// indexes of the collection, none if they are unknown; records counts those of a filter, up
// to a limit, with an index.
func (c Compiled) ChooseIndex(known []Index, count bool, records func(filter bson.D, limit int, index string) (int64, error)) (string, error) {
	if known == nil {
		return "", nil
	}
	f := c.features()
	if f.byID {
		return IndexID, nil
	}
	order := c.order
	if count {
		order = record.KeyID
	}
	best := best(known, f.fixed, order)
	if best != nil && len(best.equal) > 0 {
		return best.Name, nil
	}
	for _, term := range f.terms {
		n, err := records(filter(c.Network, bson.A{term}), maxRare+1, termsIndex.Name)
		if err != nil {
			return "", err
		}
		if n <= maxRare {
			return termsIndex.Name, nil
		}
	}
	if f.ordered > 0 && (count || c.order == record.FieldCreateTime && f.ordered <= maxMerged) {
		return orderedIndex.Name, nil
	}
	switch {
	case best == nil,
		count && (!f.onlyState || len(f.terms) > 0),
		f.ordered > 0,
		!f.onlyState && len(f.terms) == 0 && c.After == nil:
		return "", nil
	}
	return best.Name, nil
}

// best is the index that uses most of the fixed paths, and of several the one
// that has the order.
func best(known []Index, fixed []string, order string) (best *Index) {
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
