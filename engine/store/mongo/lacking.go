package mongo

import (
	"context"
	"strings"

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
			for _, field := range []string{fieldTerms, fieldOrdered} {
				err := eachTerm(raw, field, func(text string) { terms[text] = true })
				if err != nil {
					return err
				}
			}
			held[store.Key{Network: network, ID: id}] = terms
			return nil
		}, byID(len(ids)).SetProjection(bson.D{{Key: fieldTerms, Value: 1}, {Key: fieldOrdered, Value: 1}}))
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

// eachTerm calls found with the stored forms of a record's terms.
func eachTerm(raw bson.Raw, field string, found func(text string)) error {
	array, ok := raw.Lookup(field).ArrayOK()
	if !ok {
		return nil
	}
	values, err := array.Values()
	for _, value := range values {
		text, _ := value.StringValueOK()
		found(text)
	}
	return err
}

// OrderedTerms implements store.Snapshot.
func (v *view) OrderedTerms(ctx context.Context, collection string, keys []store.Key) (map[store.Key][]store.Term, error) {
	found := map[store.Key][]store.Term{}
	for network, ids := range byNetwork(keys) {
		err := v.rows(ctx, collection, withIDs(network, ids), func(raw bson.Raw) error {
			id, _ := raw.Lookup(fieldID, "id").StringValueOK()
			key := store.Key{Network: network, ID: id}
			return eachTerm(raw, fieldOrdered, func(text string) {
				name, value, _ := strings.Cut(text, "=")
				found[key] = append(found[key], store.Term{Key: name, Value: value})
			})
		}, byID(len(ids)).SetProjection(bson.D{{Key: fieldOrdered, Value: 1}}))
		if err != nil {
			return nil, err
		}
	}
	return found, v.guard(ctx)
}
