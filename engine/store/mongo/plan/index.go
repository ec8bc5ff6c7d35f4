package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

// Index is an index of a collection. All begin with the network and end with
// the id and the state, so that a count with the usual conditions reads no
// record.
type Index struct {
	Name string
	Keys bson.D
	// equal are the paths that a query must fix, order the path that it orders
	// by.
	equal []string
	order string
}

// Indexes returns the indexes of a collection, without the one of _id.
func Indexes(c store.Collection) []Index {
	all := []Index{newIndex(nil, record.KeyID), newIndex(nil, record.FieldCreateTime), newIndex(nil, record.FieldUpdateTime), newIndex(nil, record.FieldTerms), orderedIndex}
	for _, wanted := range c.Indexes {
		var equal []string
		for _, field := range wanted.Equal {
			equal = append(equal, path(field))
		}
		next := newIndex(equal, path(wanted.Order))
		if !slices.ContainsFunc(all, func(i Index) bool { return i.Name == next.Name }) {
			all = append(all, next)
		}
	}
	return all
}

// IndexID is the name of the index that every collection has.
const IndexID = "_id_"

// termsIndex is the index of terms, the same in each collection.
var termsIndex = newIndex(nil, record.FieldTerms)

// orderedIndex is the index of ordered terms, the same in each collection.
var orderedIndex = newIndex([]string{record.FieldOrdered}, record.FieldCreateTime)

// OwnIndex is the prefix of the names of the store's indexes. Others were made
// by an operator, and stay.
const OwnIndex = "marquee_"

func newIndex(equal []string, order string) Index {
	i := Index{equal: equal, order: order}
	text := ""
	for _, field := range append(append([]string{record.KeyNetwork}, equal...), order, record.KeyID, record.FieldState) {
		if !slices.ContainsFunc(i.Keys, func(e bson.E) bool { return e.Key == field }) {
			i.Keys = append(i.Keys, bson.E{Key: field, Value: 1})
			text += field + "\x00"
		}
	}
	digest := sha256.Sum256([]byte(text))
	i.Name = OwnIndex + hex.EncodeToString(digest[:8])
	return i
}
