package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
)

// maxUnion bounds the collections of one command.
const maxUnion = 20

// fieldQuery is the member of a result that holds the index of its query.
const fieldQuery = "query"

// labelPart is a part of a query for labels: the keys of one network.
type labelPart struct {
	query               int
	collection, network string
	ids                 bson.A
	property            string // as it is stored
}

// Labels implements store.Snapshot. The queries are sent together, as a round trip takes
// longer than finding a few labels.
func (v *view) Labels(ctx context.Context, queries ...store.LabelQuery) ([]map[store.Key]string, error) {
	results := make([]map[store.Key]string, len(queries))
	var parts []labelPart
	for i, q := range queries {
		results[i] = make(map[store.Key]string, len(q.Keys))
		for network, ids := range byNetwork(q.Keys) {
			parts = append(parts, labelPart{i, q.Collection, network, ids, escapeName(q.Property)})
		}
	}
	atOnce := maxUnion
	if v.session.TransactionRunning() { // in which MongoDB does not support $unionWith
		atOnce = 1
	}
	for some := range slices.Chunk(parts, atOnce) {
		err := v.readLabels(ctx, some, func(part labelPart, raw bson.Raw) {
			id, _ := raw.Lookup(fieldID, "id").StringValueOK()
			label, _ := raw.Lookup(fieldDocument, part.property).StringValueOK()
			results[part.query][store.Key{Network: part.network, ID: id}] = label
		})
		if err != nil {
			return nil, err
		}
	}
	return results, v.guard(ctx)
}

// readLabels sends one command for some parts.
func (v *view) readLabels(ctx context.Context, parts []labelPart, found func(labelPart, bson.Raw)) error {
	first := parts[0]
	if len(parts) == 1 {
		return v.rows(ctx, first.collection, withIDs(first.network, first.ids), func(raw bson.Raw) error {
			found(first, raw)
			return nil
		}, byID(len(first.ids)).SetProjection(bson.D{{Key: fieldDocument + "." + first.property, Value: 1}}))
	}
	if err := v.guard(ctx); err != nil {
		return err
	}
	pipeline, n := first.stages(0), len(first.ids)
	for i, part := range parts[1:] {
		pipeline = append(pipeline, bson.D{{Key: "$unionWith", Value: bson.D{
			{Key: "coll", Value: part.collection}, {Key: "pipeline", Value: part.stages(i + 1)}}}})
		n += len(part.ids)
	}
	cursor, err := v.collection(first.collection).Aggregate(v.in(ctx), pipeline, options.Aggregate().SetHint(indexID).SetBatchSize(batchSize(n)))
	return v.drain(ctx, first.collection, cursor, err, func(raw bson.Raw) error {
		i, _ := raw.Lookup(fieldQuery).AsInt64OK()
		found(parts[i], raw)
		return nil
	})
}

// stages selects the labels of a part, and marks them with its index.
func (p labelPart) stages(index int) bson.A {
	return bson.A{
		bson.D{{Key: "$match", Value: withIDs(p.network, p.ids)}},
		bson.D{{Key: "$project", Value: bson.D{{Key: fieldDocument + "." + p.property, Value: 1}, {Key: fieldQuery, Value: bson.D{{Key: "$literal", Value: index}}}}}},
	}
}
