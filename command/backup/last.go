package backup

import (
	"context"
	"time"

	"marquee/engine/store"
)

// Collection has the record of the last good backup of the store.
var Collection = store.Collection{Name: "engine_backup"}

var lastKey = store.Key{ID: "last"}

type lastRecord struct {
	Time time.Time `json:"time"`
}

// Last returns when the last good backup of a store began; the zero time is none.
func Last(ctx context.Context, s store.Store) (time.Time, error) {
	var last lastRecord
	err := s.Read(ctx, func(r store.Snapshot) error {
		_, err := store.ReadOne(ctx, r, Collection.Name, lastKey, &last)
		return err
	})
	return last.Time, err
}

// note stores when a good backup began.
func note(ctx context.Context, s store.Store, began time.Time) error {
	return s.Write(ctx, func(tx store.Tx) error {
		was, err := store.ReadOne(ctx, tx, Collection.Name, lastKey, nil)
		if err != nil {
			return err
		}
		return store.PutInternal(ctx, tx, Collection.Name, was, "ACTIVE", lastRecord{began}, time.Now())
	})
}
