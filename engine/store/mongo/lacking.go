package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
)

// Lacking implements store.Snapshot.
func (v *view) Lacking(ctx context.Context, collection string, entries []store.Entry) (lacking []store.Entry, err error) {
	keys := make([]store.Key, len(entries))
	for i, entry := range entries {
		keys[i] = entry.Key
	}
	held := make(map[store.Key]map[string]bool, len(entries))
	for network, ids := range byNetwork(keys) {
		err := v.rows(ctx, collection, withIDs(network, ids), func(raw bson.Raw) error {
			id, _ := raw.Lookup(fieldID, "id").StringValueOK()
			terms := map[string]bool{}
			if array, ok := raw.Lookup(fieldTerms).ArrayOK(); ok {
				values, err := array.Values()
				if err != nil {
					return err
				}
				for _, value := range values {
					text, _ := value.StringValueOK()
					terms[text] = true
				}
			}
			held[store.Key{Network: network, ID: id}] = terms
			return nil
		}, byID(len(ids)).SetProjection(bson.D{{Key: fieldTerms, Value: 1}}))
		if err != nil {
			return nil, err
		}
	}
	for _, entry := range entries {
		terms, there := held[entry.Key]
		missing := store.Entry{Key: entry.Key}
		for _, term := range entry.Terms {
			if there && !terms[termText(term)] {
				missing.Terms = append(missing.Terms, term)
			}
		}
		if len(missing.Terms) > 0 {
			lacking = append(lacking, missing)
		}
	}
	return lacking, v.guard(ctx)
}
