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

// segments are the parts of a query behind a position, in order: each is a
// range of an index.
func segments(q query.Query) []segment {
	if q.After == nil {
		return []segment{{}}
	}
	key, after := path(q.Order.Field), "$gt"
	if q.Order.Descending {
		after = "$lt"
	}
	behindID := bson.E{Key: keyID, Value: bson.D{{Key: after, Value: q.After.ID}}}
	if key == keyID {
		return []segment{{condition: bson.D{behindID}}}
	}
	value := stored(q.Order.Field, q.After.Key)
	same := segment{condition: bson.D{{Key: key, Value: value}, behindID}, byID: true}
	behind := segment{condition: bson.D{{Key: key, Value: bson.D{{Key: after, Value: value}}}}}
	absent := segment{condition: bson.D{{Key: key, Value: nil}}, byID: true}
	there := segment{condition: bson.D{{Key: key, Value: bson.D{{Key: "$ne", Value: nil}}}}}
	switch {
	case value == nil && q.Order.Descending:
		return []segment{same}
	case value == nil:
		return []segment{same, there}
	case q.Order.Descending && q.Order.Field.System == query.NotSystem:
		return []segment{same, behind, absent}
	}
	return []segment{same, behind}
}

// finding is a find, before it is one of the driver's or of an explanation.
type finding struct {
	filter, sort bson.D
	skip, limit  int64
	hint         string
}

// findingOf is the find that answers a segment of a query.
func findingOf(q query.Query, within segment, limit int, hint string) finding {
	f := finding{filter: filter(q, within.condition), limit: int64(limit), hint: hint}
	direction := 1
	if q.Order.Descending {
		direction = -1
	}
	if key := path(q.Order.Field); key != keyID && !within.byID {
		f.sort = bson.D{{Key: key, Value: direction}}
	}
	f.sort = append(f.sort, bson.E{Key: keyID, Value: direction})
	if q.After == nil {
		f.skip = int64(q.Offset)
	}
	return f
}

func (f finding) options() *options.FindOptionsBuilder {
	opts := options.Find().SetSort(f.sort).SetSkip(f.skip).SetLimit(f.limit).SetBatchSize(batchSize(int(f.limit))).SetAllowDiskUse(true).SetProjection(recordFields)
	if f.hint != "" {
		opts.SetHint(f.hint)
	}
	return opts
}
