package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

// Lacking implements store.Snapshot.
func (v *view) Lacking(ctx context.Context, collection string, entries []store.Entry) (lacking []store.Entry, err error) {
	keys := make([]store.Key, len(entries))
	for i, entry := range entries {
		keys[i] = entry.Key
	}
	held := make(map[store.Key]map[store.Term]bool, len(entries))
	for network, ids := range byNetwork(keys) {
		err := v.rows(ctx, collection, withIDs(network, ids), func(raw bson.Raw) error {
			terms := map[store.Term]bool{}
			for _, field := range []string{record.FieldTerms, record.FieldOrdered} {
				err := record.EachTerm(raw, field, func(term store.Term) { terms[term] = true })
				if err != nil {
					return err
				}
			}
			held[record.Key(raw)] = terms
			return nil
		}, byID(len(ids)).SetProjection(bson.D{{Key: record.FieldTerms, Value: 1}, {Key: record.FieldOrdered, Value: 1}}))
		if err != nil {
			return nil, err
		}
	}
	for _, entry := range entries {
		terms, there := held[entry.Key]
		missing := store.Entry{Key: entry.Key}
		for _, term := range entry.Terms {
			if there && !terms[term] {
				missing.Terms = append(missing.Terms, term)
			}
		}
		if len(missing.Terms) > 0 {
			lacking = append(lacking, missing)
		}
	}
	return lacking, v.guard(ctx)
}

// OrderedTerms implements store.Snapshot.
func (v *view) OrderedTerms(ctx context.Context, collection string, keys []store.Key) (map[store.Key][]store.Term, error) {
	found := map[store.Key][]store.Term{}
	for network, ids := range byNetwork(keys) {
		err := v.rows(ctx, collection, withIDs(network, ids), func(raw bson.Raw) error {
			key := record.Key(raw)
			return record.EachTerm(raw, record.FieldOrdered, func(term store.Term) { found[key] = append(found[key], term) })
		}, byID(len(ids)).SetProjection(bson.D{{Key: record.FieldOrdered, Value: 1}}))
		if err != nil {
			return nil, err
		}
	}
	return found, v.guard(ctx)
}
