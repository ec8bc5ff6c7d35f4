package mongo

import (
	"context"
	"regexp"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
)

// Forget implements store.Store. MongoDB reads the whole collection, and
// changes each record on its own.
func (s *Store) Forget(ctx context.Context, collection string, termKeys, properties []string) error {
	return s.patiently(ctx, func() error {
		if len(properties) > 0 {
			_, err := s.db.Collection(claimsCollection).DeleteMany(ctx, bson.D{{Key: fieldID + ".collection", Value: collection},
				{Key: fieldID + ".property", Value: bson.D{{Key: "$in", Value: properties}}}})
			if err != nil {
				return err
			}
		}
		for field, keys := range byField(termKeys) {
			pattern := bson.Regex{Pattern: "^(" + strings.Join(keys, "|") + ")="}
			_, err := s.db.Collection(collection).UpdateMany(ctx,
				bson.D{{Key: keyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}, {Key: field, Value: pattern}},
				bson.D{{Key: "$pull", Value: bson.D{{Key: field, Value: pattern}}}})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// byField returns the patterns of keys of terms by the field that holds them.
func byField(termKeys []string) map[string][]string {
	fields := map[string][]string{}
	for _, key := range termKeys {
		field := fieldTerms
		if isOrdered(store.Term{Key: key}) {
			field = fieldOrdered
		}
		fields[field] = append(fields[field], regexp.QuoteMeta(key))
	}
	return fields
}
