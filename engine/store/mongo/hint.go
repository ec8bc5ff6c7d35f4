package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/query"
)

// few is up to how many records it is better to find all that have a term and
// to bring them into order, than to walk the order, or another index, and to
// look for the term of each.
const few = 2000

// hint names the index that answers a query, or counts it, best where that is
// certain: MongoDB would try several to find out, and keep one for queries that
// differ in their values alone. "" leaves it to MongoDB.
func (v *view) hint(ctx context.Context, q query.Query, count bool) (string, error) {
	known := v.s.indexes(q.Collection)
	if known == nil {
		return "", nil
	}
	asked := asked(q)
	if asked.ids {
		return indexID, nil
	}
	order := path(q.Order.Field)
	if count {
		order = keyID
	}
	best := best(known, asked.fixed, order)
	if best != nil && len(best.equal) > 0 {
		return best.name, nil
	}
	for _, term := range asked.terms {
		n, err := v.countTerm(ctx, q, term)
		if err != nil {
			return "", err
		}
		if n <= few {
			return termsIndex.name, nil
		}
	}
	if best == nil || count && (!asked.onlyState || len(asked.terms) > 0) || !asked.onlyState && len(asked.terms) == 0 && q.After == nil {
		return "", nil
	}
	return best.name, nil
}

// termsIndex is the index of terms, the same of each collection.
var termsIndex = newIndex(nil, fieldTerms)

// countTerm counts, up to few and one more, the records that meet a condition
// on terms.
func (v *view) countTerm(ctx context.Context, q query.Query, term query.Expr) (n int64, err error) {
	pipeline := bson.A{bson.D{{Key: "$match", Value: filter(query.Query{Network: q.Network, Where: term})}},
		bson.D{{Key: "$limit", Value: few + 1}}, bson.D{{Key: "$count", Value: "n"}}}
	return v.aggregate(ctx, q.Collection, pipeline, options.Aggregate().SetHint(termsIndex.name))
}

// asking is what a query asks for.
type asking struct {
	// fixed are the paths that have one value each, terms the conditions on
	// terms.
	fixed []string
	terms []query.Expr
	// ids says that records are named, onlyState that nothing is asked for
	// besides terms but the state, which every index holds.
	ids, onlyState bool
}

func asked(q query.Query) asking {
	a := asking{onlyState: true}
	for _, e := range conjuncts(q.Where) {
		switch e := e.(type) {
		case query.Compare:
			switch {
			case isTerm(e):
				a.terms = append(a.terms, e)
				continue
			case e.Op == query.Equal && e.Field.System == query.ID:
				a.ids = true
			case e.Op == query.Equal && !e.Field.Multiple():
				a.fixed = append(a.fixed, path(e.Field))
			}
		case query.In:
			if areTerms(e) {
				a.terms = append(a.terms, e)
				continue
			}
			a.ids = a.ids || e.Field.System == query.ID
		case query.Term:
			a.terms = append(a.terms, e)
			continue
		}
		a.onlyState = a.onlyState && onlyState(e)
	}
	return a
}

// best is the index that fixes most and has the order.
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

// onlyState reports whether a condition is on the state alone.
func onlyState(e query.Expr) bool {
	switch e := e.(type) {
	case query.Not:
		return onlyState(e.Of)
	case query.Compare:
		return e.Field.System == query.State
	case query.In:
		return e.Field.System == query.State
	}
	return false
}
