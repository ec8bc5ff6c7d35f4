package mongo

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/query"
)

// segment is a part of a query's order: a condition on the key of the order.
// Together, the segments are all records behind the position, and each is a
// range of an index.
type segment struct {
	conditions bson.A
	// byID reports whether all keys are equal, so that the id alone orders.
	byID bool
}

// segments returns the segments of a query in order.
func (c compiled) segments() []segment {
	if c.After == nil {
		return []segment{{}}
	}
	after := "$gt"
	if c.Order.Descending {
		after = "$lt"
	}
	behindID := bson.E{Key: keyID, Value: bson.D{{Key: after, Value: c.After.ID}}}
	if c.order == keyID {
		return []segment{{conditions: bson.A{bson.D{behindID}}}}
	}
	same := segment{conditions: bson.A{bson.D{{Key: c.order, Value: c.after}, behindID}}, byID: true}
	behind := segment{conditions: bson.A{bson.D{{Key: c.order, Value: bson.D{{Key: after, Value: c.after}}}}}}
	absent := segment{conditions: bson.A{bson.D{{Key: c.order, Value: nil}}}, byID: true}
	there := segment{conditions: bson.A{bson.D{{Key: c.order, Value: bson.D{{Key: "$ne", Value: nil}}}}}}
	switch {
	case c.after == nil && c.Order.Descending:
		return []segment{same}
	case c.after == nil:
		return []segment{same, there}
	case c.Order.Descending && c.Order.Field.System == query.NotSystem:
		return []segment{same, behind, absent}
	}
	return []segment{same, behind}
}

// finding holds the arguments of a find command.
type finding struct {
	filter, sort bson.D
	skip, limit  int64
	hint         string
}

// find returns the find that selects at most limit records of a segment.
func (c compiled) find(within segment, limit int, hint string) finding {
	f := finding{filter: c.filter(within.conditions...), limit: int64(limit), hint: hint}
	direction := 1
	if c.Order.Descending {
		direction = -1
	}
	if c.order != keyID && !within.byID {
		f.sort = bson.D{{Key: c.order, Value: direction}}
	}
	f.sort = append(f.sort, bson.E{Key: keyID, Value: direction})
	if c.After == nil {
		f.skip = int64(c.Offset)
	}
	return f
}

func (f finding) options() *options.FindOptionsBuilder {
	opts := options.Find().SetSort(f.sort).SetSkip(f.skip).SetLimit(f.limit).SetAllowDiskUse(true).SetProjection(recordFields)
	if f.hint != "" {
		opts.SetHint(f.hint)
	}
	return opts
}
