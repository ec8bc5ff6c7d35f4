package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// ScanHistory implements store.Snapshot.
func (v *view) ScanHistory(ctx context.Context, collection, after string, limit int) ([]store.Change, error) {
	if limit <= 0 {
		return nil, v.guard(ctx)
	}
	var changes []store.Change
	filter := bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}, {Key: record.KeyID, Value: bson.D{{Key: "$gt", Value: after}}},
		{Key: "collection", Value: collection}}
	err := v.rows(ctx, changesCollection, filter, func(raw bson.Raw) error {
		c, err := record.Change(raw)
		changes = append(changes, c)
		return err
	}, options.Find().SetHint(plan.OwnIndex+"feed").SetSort(bson.D{{Key: record.KeyID, Value: 1}}).SetLimit(int64(limit)).SetBatchSize(batchSize(limit)))
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
		if err := updates.add(ctx, func(dst []byte) ([]byte, error) { return record.AppendDocument(dst, r) }); err != nil {
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
		if err := updates.add(ctx, func(dst []byte) ([]byte, error) { return record.AppendFields(dst, c) }); err != nil {
			return err
		}
	}
	return updates.all(ctx)
}

// Wipe implements store.Store. Clients can neither reach nor overwrite what
// MongoDB has replaced.
func (s *Store) Wipe(context.Context) (int64, error) { return 0, nil }
