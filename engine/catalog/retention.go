package catalog

import (
	"context"
	"time"

	"marquee/engine/store"
)

// Retention is the collection of a record that says how far the history has been removed. It
// is written in the transactions that remove changes, and is missing while the history is
// complete.
var Retention = store.Collection{Name: "engine_retention"}

// Removal is the record of Retention.
type Removal struct {
	// Before is later than the changes that have been removed.
	Before time.Time `json:"before"`
}

// ReadRemoval returns how far the history has been removed, and the record.
func ReadRemoval(ctx context.Context, s store.Snapshot) (r Removal, record store.Record, err error) {
	record, err = store.ReadOne(ctx, s, Retention.Name, store.Key{ID: "history"}, &r)
	return r, record, err
}
