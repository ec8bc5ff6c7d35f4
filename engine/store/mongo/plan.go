package mongo

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/query"
	"marquee/engine/store"
)

// index is one of a collection: all begin with the network and end with the id
// and the state, so that a count with the usual conditions reads no record.
type index struct {
	name string
	keys bson.D
	// equal are the paths that a query fixes, order the one that it orders by.
	equal []string
	order string
}

// indexes are all indexes of a collection but the one of _id.
func indexes(c store.Collection) []index {
	all := []index{newIndex(nil, keyID), newIndex(nil, fieldCreateTime), newIndex(nil, fieldUpdateTime), newIndex(nil, fieldTerms)}
	for _, wanted := range c.Indexes {
		var equal []string
		for _, field := range wanted.Equal {
			equal = append(equal, path(field))
		}
		next := newIndex(equal, path(wanted.Order))
		if !slices.ContainsFunc(all, func(i index) bool { return i.name == next.name }) {
			all = append(all, next)
		}
	}
	return all
}

// ownIndex begins the names of the indexes that are made here: others are
// their maker's.
const ownIndex = "marquee_"

func newIndex(equal []string, order string) index {
	i := index{equal: equal, order: order}
	text := ""
	for _, field := range append(append([]string{keyNetwork}, equal...), order, keyID, fieldState) {
		if !slices.ContainsFunc(i.keys, func(e bson.E) bool { return e.Key == field }) {
			i.keys = append(i.keys, bson.E{Key: field, Value: 1})
			text += field + "\x00"
		}
	}
	digest := sha256.Sum256([]byte(text))
	i.name = ownIndex + hex.EncodeToString(digest[:8])
	return i
}

// segment is a condition on the order's key.
type segment struct {
	condition bson.D
	// byID says that all keys are the same: only the id orders.
	byID bool
}

func segments(q query.Query) []segment {
	if q.After == nil {
		return []segment{{}}
	}
	key, after, more := path(q.Order.Field), "$gt", "$gte"
	if q.Order.Descending {
		after, more = "$lt", "$lte"
	}
	behindID := bson.D{{Key: keyID, Value: bson.D{{Key: after, Value: q.After.ID}}}}
	if q.Order.Field.System == query.ID {
		return []segment{{condition: behindID}}
	}
	absent := segment{condition: bson.D{{Key: key, Value: nil}}, byID: true}
	if q.After.Key == nil {
		absent.condition = append(absent.condition, behindID...)
		if q.Order.Descending {
			return []segment{absent}
		}
		return []segment{absent, {condition: bson.D{{Key: key, Value: bson.D{{Key: "$ne", Value: nil}}}}}}
	}
	value := stored(q.Order.Field, q.After.Key)
	present := segment{condition: bson.D{{Key: key, Value: bson.D{{Key: more, Value: value}}}, {Key: "$or", Value: bson.A{
		bson.D{{Key: key, Value: bson.D{{Key: after, Value: value}}}}, behindID}}}}
	if q.Order.Descending && q.Order.Field.System == query.NotSystem {
		return []segment{present, absent}
	}
	return []segment{present}
}

// plan is the find that answers a segment of a query.
func (s *Store) plan(q query.Query, within segment, limit int) (bson.D, *options.FindOptionsBuilder) {
	f := filter(q, within.condition)
	direction := 1
	if q.Order.Descending {
		direction = -1
	}
	sort := bson.D{{Key: keyID, Value: direction}}
	if key := path(q.Order.Field); key != keyID && !within.byID {
		sort = append(bson.D{{Key: key, Value: direction}}, sort...)
	}
	opts := options.Find().SetSort(sort).SetLimit(int64(limit)).SetBatchSize(batchSize(limit)).SetAllowDiskUse(true).SetProjection(recordFields)
	if q.Offset > 0 && q.After == nil {
		opts.SetSkip(int64(q.Offset))
	}
	if hint := s.findHint(q); hint != "" {
		opts.SetHint(hint)
	}
	return f, opts
}

// findHint names the index that answers a query best where that is certain:
// MongoDB would try several to find out, and keep one for other values too.
func (s *Store) findHint(q query.Query) string {
	fixed, ids, terms := fixedBy(q)
	if ids {
		return indexID
	}
	best, exact := s.best(q, fixed)
	switch {
	case best == nil, len(best.equal) == 0 && (terms || !exact && q.After == nil):
		return ""
	}
	return best.name
}

// countHint does the same for a count, which has no order.
func (s *Store) countHint(q query.Query) string {
	fixed, ids, terms := fixedBy(q)
	if ids {
		return indexID
	}
	q.Order = query.Order{Field: query.Field{System: query.ID}}
	best, exact := s.best(q, fixed)
	if best == nil || terms || len(best.equal) == 0 && !exact {
		return ""
	}
	return best.name
}

// fixedBy are the paths that a query fixes to one value each, whether it names
// ids, and whether it asks for terms.
func fixedBy(q query.Query) (fixed []string, ids, terms bool) {
	for _, e := range conjuncts(q.Where) {
		switch e := e.(type) {
		case query.Compare:
			switch {
			case isTerm(e):
				terms = true
			case e.Op == query.Equal && e.Field.System == query.ID:
				ids = true
			case e.Op == query.Equal && !e.Field.Multiple():
				fixed = append(fixed, path(e.Field))
			}
		case query.In:
			ids = ids || e.Field.System == query.ID
			terms = terms || areTerms(e)
		case query.Term:
			terms = true
		}
	}
	return fixed, ids, terms
}

// best is the index that fixes most and has the order, and whether nothing is
// asked for besides but the state.
func (s *Store) best(q query.Query, fixed []string) (best *index, exact bool) {
	order, most := path(q.Order.Field), -1
	known := s.indexes(q.Collection)
	for i := range known {
		usable := known[i].order != fieldTerms && !slices.ContainsFunc(known[i].equal, func(field string) bool { return !slices.Contains(fixed, field) })
		if !usable {
			continue
		}
		score := 2 * len(known[i].equal)
		if known[i].order == order {
			score++
		} else if score == 0 {
			continue
		}
		if score > most {
			best, most = &known[i], score
		}
	}
	return best, !slices.ContainsFunc(conjuncts(q.Where), func(e query.Expr) bool { return !onlyState(e) })
}

// onlyState reports whether a condition is on the state alone, which every
// index holds.
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
