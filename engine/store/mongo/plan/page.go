package plan

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/query"
	"marquee/engine/store/mongo/record"
)

// Segment is a part of a query's order: a condition on the key of the order.
// Together, the segments are all records behind the position, and each is a
// range of an index.
type Segment struct {
	conditions bson.A
	// byID reports whether all keys are equal, so that the id alone orders.
	byID bool
}

// Segments returns the segments of a query in order.
func (c Compiled) Segments() []Segment {
	if c.After == nil {
		return []Segment{{}}
	}
	after := "$gt"
	if c.Order.Descending {
		after = "$lt"
	}
	behindID := bson.E{Key: record.KeyID, Value: bson.D{{Key: after, Value: c.After.ID}}}
	if c.order == record.KeyID {
		return []Segment{{conditions: bson.A{bson.D{behindID}}}}
	}
	same := Segment{conditions: bson.A{bson.D{{Key: c.order, Value: c.after}, behindID}}, byID: true}
	behind := Segment{conditions: bson.A{bson.D{{Key: c.order, Value: bson.D{{Key: after, Value: c.after}}}}}}
	absent := Segment{conditions: bson.A{bson.D{{Key: c.order, Value: nil}}}, byID: true}
	there := Segment{conditions: bson.A{bson.D{{Key: c.order, Value: bson.D{{Key: "$ne", Value: nil}}}}}}
	switch {
	case c.after == nil && c.Order.Descending:
		return []Segment{same}
	case c.after == nil:
		return []Segment{same, there}
	case c.Order.Descending && c.Order.Field.System == query.NotSystem:
		return []Segment{same, behind, absent}
	}
	return []Segment{same, behind}
}

// Find holds the arguments of a find command.
type Find struct {
	Filter, Sort bson.D
	Skip, Limit  int64
	Hint         string
}

// Find returns the find that selects at most limit records of a segment.
func (c Compiled) Find(within Segment, limit int, hint string) Find {
	f := Find{Filter: c.Filter(within.conditions...), Limit: int64(limit), Hint: hint}
	direction := 1
	if c.Order.Descending {
		direction = -1
	}
	if c.order != record.KeyID && !within.byID {
		f.Sort = bson.D{{Key: c.order, Value: direction}}
	}
	f.Sort = append(f.Sort, bson.E{Key: record.KeyID, Value: direction})
	if c.After == nil {
		f.Skip = int64(c.Offset)
	}
	return f
}

// Options returns the options of the command.
func (f Find) Options() *options.FindOptionsBuilder {
	opts := options.Find().SetSort(f.Sort).SetSkip(f.Skip).SetLimit(f.Limit).SetAllowDiskUse(true).SetProjection(record.Fields)
	if f.Hint != "" {
		opts.SetHint(f.Hint)
	}
	return opts
}
