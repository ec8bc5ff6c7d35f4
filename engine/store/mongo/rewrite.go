package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/store"
)

// ScanHistory implements store.Snapshot.
func (v *view) ScanHistory(ctx context.Context, collection, after string, limit int) ([]store.Change, error) {
	if limit <= 0 {
		return nil, v.guard(ctx)
	}
	var changes []store.Change
	filter := bson.D{{Key: keyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}, {Key: keyID, Value: bson.D{{Key: "$gt", Value: after}}},
		{Key: "collection", Value: collection}}
	err := v.rows(ctx, changesCollection, filter, func(raw bson.Raw) error {
		c, _, err := change(raw)
		changes = append(changes, c)
		return err
	}, options.Find().SetHint(ownIndex+"feed").SetSort(bson.D{{Key: keyID, Value: 1}}).SetLimit(int64(limit)).SetBatchSize(batchSize(limit)))
	return changes, err
}

// Rewrite implements store.Tx.
func (t *transaction) Rewrite(ctx context.Context, collection string, records []store.Record) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	updates := t.updates(collection)
	for i := range records {
		r := &records[i]
		t.touch(r.Network, collection)
		err := updates.add(ctx, func(dst []byte) ([]byte, error) {
			return appendSet(appendAt(dst, r.Key, r.Revision, ""), fieldDocument, r.Document)
		})
		if err != nil {
			return err
		}
	}
	return updates.all(ctx)
}

// RewriteHistory implements store.Tx.
func (t *transaction) RewriteHistory(ctx context.Context, changes []store.Change) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	updates := t.updates(changesCollection)
	for i := range changes {
		c := &changes[i]
		t.touch(c.Network, changesCollection)
		err := updates.add(ctx, func(dst []byte) ([]byte, error) {
			query, dst := bsoncore.AppendDocumentElementStart(dst, "q")
			dst = appendID(dst, store.Key{Network: c.Network, ID: c.Position})
			dst, _ = bsoncore.AppendDocumentEnd(dst, query)
			return appendSet(dst, "fields", c.Fields)
		})
		if err != nil {
			return err
		}
	}
	return updates.all(ctx)
}

// appendSet appends the update that sets a member.
func appendSet(dst []byte, name string, value []byte) ([]byte, error) {
	update, dst := bsoncore.AppendDocumentElementStart(dst, "u")
	set, dst := bsoncore.AppendDocumentElementStart(dst, "$set")
	dst, _, err := appendJSON(dst, name, value, 0)
	if err != nil {
		return dst, err
	}
	dst, _ = bsoncore.AppendDocumentEnd(dst, set)
	return bsoncore.AppendDocumentEnd(dst, update)
}

// Wipe implements store.Store. Clients can neither reach nor overwrite what
// MongoDB has replaced.
func (s *Store) Wipe(context.Context) error { return nil }
