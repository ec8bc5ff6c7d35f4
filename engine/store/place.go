package store

import (
	"context"
	"slices"

	"marquee/engine/query"
)

// Place names the records of one collection in one network.
type Place struct{ Collection, Network string }

// KeysIn returns the keys of records of a network.
func KeysIn(network string, ids []string) []Key {
	keys := make([]Key, len(ids))
	for i, id := range ids {
		keys[i] = Key{Network: network, ID: id}
	}
	return keys
}

// LabelQuery asks for the text of a top-level property of the records of keys, or with ""
// for nothing of them.
type LabelQuery struct {
	Collection, Property string
	Keys                 []Key
	// Where, unless it is nil, leaves out the records that do not meet it.
	Where query.Expr
	// Find, unless it is nil, takes the place of Collection, Keys and Where: it asks for
	// the records that a query without a position finds.
	Find *query.Query
}

// Existing returns a map that has those of some keys whose records exist.
func Existing(ctx context.Context, s Snapshot, collection string, keys []Key) (map[Key]string, error) {
	found, err := s.Labels(ctx, LabelQuery{Collection: collection, Keys: keys})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Lookup names records of a collection.
type Lookup struct {
	Collection string
	Keys       []Key
}

// Clone copies a record that the store only lends.
func (r *Record) Clone() *Record {
	clone := *r
	clone.Document, clone.Warnings = slices.Clone(r.Document), slices.Clone(r.Warnings)
	return &clone
}
