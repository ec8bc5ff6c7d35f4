package mongo

import (
	"context"
	"regexp"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
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
		if len(termKeys) == 0 {
			return nil
		}
		quoted := make([]string, len(termKeys))
		for i, key := range termKeys {
			quoted[i] = regexp.QuoteMeta(key)
		}
		pattern := bson.Regex{Pattern: "^(" + strings.Join(quoted, "|") + ")="}
		_, err := s.db.Collection(collection).UpdateMany(ctx,
			bson.D{{Key: keyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}, {Key: fieldTerms, Value: pattern}},
			bson.D{{Key: "$pull", Value: bson.D{{Key: fieldTerms, Value: pattern}}}})
		return err
	})
}
