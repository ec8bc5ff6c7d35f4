package store

import (
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

// LabelQuery asks for the text of a top-level property of the records of keys.
type LabelQuery struct {
	Collection, Property string
	Keys                 []Key
	// Where, unless it is nil, leaves out the records that do not meet it.
	Where query.Expr
	// Find, unless it is nil, takes the place of Collection, Keys and Where: it asks for
	// the records that a query without a position finds.
	Find *query.Query
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
