package mongo

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
)

// index is an index of a collection. All begin with the network and end with
// the id and the state, so that a count with the usual conditions reads no
// record.
type index struct {
	name string
	keys bson.D
	// equal are the paths that a query must fix, order the path that it orders
	// by.
	equal []string
	order string
}

// indexes returns the indexes of a collection, without the one of _id.
func indexes(c store.Collection) []index {
	all := []index{newIndex(nil, keyID), newIndex(nil, fieldCreateTime), newIndex(nil, fieldUpdateTime), newIndex(nil, fieldTerms), orderedIndex}
	for _, wanted := range c.Indexes {
		var equal []string
		for _, field := range wanted.Equal {
			equal = append(equal, path(field))
		}
		next := newIndex(equal, path(wanted.Order))
		if !slices.ContainsFunc(all, func(i index) bool { return i.name == next.name }) {
			all = append(all, next)
		}
	}
	return all
}

// indexID is the name of the index that every collection has.
const indexID = "_id_"

// termsIndex is the index of terms, the same in each collection.
var termsIndex = newIndex(nil, fieldTerms)

// orderedIndex is the index of ordered terms, the same in each collection.
var orderedIndex = newIndex([]string{fieldOrdered}, fieldCreateTime)

// ownIndex is the prefix of the names of the store's indexes. Others were made
// by an operator, and stay.
const ownIndex = "marquee_"

func newIndex(equal []string, order string) index {
	i := index{equal: equal, order: order}
	text := ""
	for _, field := range append(append([]string{keyNetwork}, equal...), order, keyID, fieldState) {
		if !slices.ContainsFunc(i.keys, func(e bson.E) bool { return e.Key == field }) {
			i.keys = append(i.keys, bson.E{Key: field, Value: 1})
			text += field + "\x00"
		}
	}
	digest := sha256.Sum256([]byte(text))
	i.name = ownIndex + hex.EncodeToString(digest[:8])
	return i
}

// indexes returns the indexes of a collection, or nil when they are unknown.
func (s *Store) indexes(collection string) []index {
	if known := s.known.Load(); known != nil {
		return (*known)[collection]
	}
	return nil
}

// knownIndexes returns a copy of the indexes of all collections.
func (s *Store) knownIndexes() map[string][]index {
	if now := s.known.Load(); now != nil {
		return maps.Clone(*now)
	}
	return map[string][]index{}
}

// forgetIndexes leaves the choice of indexes to MongoDB until EnsureCollections
// is called again. A server with other schemas has dropped one.
func (s *Store) forgetIndexes(collection string) {
	known := s.knownIndexes()
	delete(known, collection)
	s.known.Store(&known)
}
