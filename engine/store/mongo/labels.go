package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// maxUnion bounds the collections of one command.
const maxUnion = 20

// fieldQuery is the member of a result that holds the index of its query.
const fieldQuery = "query"

// labelPart is a part of a query for labels: the keys of one network, or what a query
// finds.
type labelPart struct {
	query               int
	collection, network string
	plan.Find
	most     int    // records
	property string // as it is stored, or ""
}

// Labels implements store.Snapshot. The queries are sent together, as a round trip takes
// longer than finding a few labels.
func (v *view) Labels(ctx context.Context, queries ...store.LabelQuery) ([]map[store.Key]string, error) {
	results := make([]map[store.Key]string, len(queries))
	var parts []labelPart
	for i, q := range queries {
		results[i] = make(map[store.Key]string, len(q.Keys))
		if q.Find != nil {
			if q.Find.Limit <= 0 {
				continue
			}
			part, err := v.foundPart(ctx, i, q)
			if err != nil {
				return nil, err
			}
			parts = slices.Insert(parts, 0, part) // only the first can be given an index
			continue
		}
		for network, ids := range byNetwork(q.Keys) {
			filter := withIDs(network, ids)
			if q.Where != nil {
				filter = append(filter, bson.E{Key: "$and", Value: bson.A{plan.Condition(network, q.Where)}})
			}
			parts = append(parts, labelPart{i, q.Collection, network, plan.Find{Filter: filter, Hint: plan.IndexID}, len(ids), storedName(q.Property)})
		}
	}
	atOnce := maxUnion
	if v.session.TransactionRunning() { // in which MongoDB does not support $unionWith
		atOnce = 1
	}
	for some := range slices.Chunk(parts, atOnce) {
		err := v.readLabels(ctx, some, func(part labelPart, raw bson.Raw) {
			label, _ := raw.Lookup(record.FieldDocument, part.property).StringValueOK()
			results[part.query][record.Key(raw)] = label
		})
		if err != nil {
			return nil, err
		}
	}
	return results, v.guard(ctx)
}

// foundPart is the part for the records that a query finds.
func (v *view) foundPart(ctx context.Context, i int, q store.LabelQuery) (labelPart, error) {
	c := plan.Compile(*q.Find)
	hint, err := v.chooseIndex(ctx, c, false)
	return labelPart{i, q.Find.Collection, q.Find.Network, c.Find(plan.Segment{}, q.Find.Limit, hint), q.Find.Limit, storedName(q.Property)}, err
}

// readLabels sends one command for some parts.
func (v *view) readLabels(ctx context.Context, parts []labelPart, found func(labelPart, bson.Raw)) error {
	first := parts[0]
	if len(parts) == 1 {
		opts := byID(first.most)
		if first.Limit > 0 {
			opts = first.Options().SetBatchSize(batchSize(first.most))
		}
		return v.rows(ctx, first.collection, first.Filter, func(raw bson.Raw) error {
			found(first, raw)
			return nil
		}, opts.SetProjection(bson.D{{Key: first.path(), Value: 1}}))
	}
	pipeline, n := first.stages(0), first.most
	for i, part := range parts[1:] {
		pipeline = append(pipeline, bson.D{{Key: "$unionWith", Value: bson.D{
			{Key: "coll", Value: part.collection}, {Key: "pipeline", Value: part.stages(i + 1)}}}})
		n += part.most
	}
	return v.aggregate(ctx, first.collection, pipeline, first.Hint, n, func(raw bson.Raw) error {
		i, _ := raw.Lookup(fieldQuery).AsInt64OK()
		found(parts[i], raw)
		return nil
	})
}

// stages selects the labels of a part, and marks them with its index.
func (p labelPart) stages(index int) bson.A {
	stages := bson.A{bson.D{{Key: "$match", Value: p.Filter}}}
	if p.Limit > 0 {
		stages = append(stages, bson.D{{Key: "$sort", Value: p.Sort}}, bson.D{{Key: "$skip", Value: p.Skip}}, bson.D{{Key: "$limit", Value: p.Limit}})
	}
	return append(stages, bson.D{{Key: "$project", Value: bson.D{{Key: p.path(), Value: 1}, {Key: fieldQuery, Value: bson.D{{Key: "$literal", Value: index}}}}}})
}

// path is where the property is stored, or the id, which is read in any case.
func (p labelPart) path() string {
	if p.property == "" {
		return record.FieldID
	}
	return record.FieldDocument + "." + p.property
}

func storedName(property string) string {
	if property == "" {
		return ""
	}
	return record.Name(property)
}
