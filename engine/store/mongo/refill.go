package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store/mongo/record"
)

// Forget implements store.Store. MongoDB reads the whole collection, and
// changes each record on its own.
func (s *Store) Forget(ctx context.Context, collection string, termKeys, properties []string) error {
	return s.patiently(ctx, func() error {
		if len(properties) > 0 {
			_, err := s.db.Collection(claimsCollection).DeleteMany(ctx, bson.D{{Key: record.FieldID + ".collection", Value: collection},
				{Key: record.FieldID + ".property", Value: bson.D{{Key: "$in", Value: properties}}}})
			if err != nil {
				return err
			}
		}
		for field, pattern := range record.TermPatterns(termKeys) {
			_, err := s.db.Collection(collection).UpdateMany(ctx,
				bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}, {Key: field, Value: pattern}},
				bson.D{{Key: "$pull", Value: bson.D{{Key: field, Value: pattern}}}})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
