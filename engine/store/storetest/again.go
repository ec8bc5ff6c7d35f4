package storetest

import (
	"context"

	"marquee/engine/store"
)

// Again returns a store that runs every function twice, as a store may after a
// conflict: results and effects of the first run must not be visible in the
// end.
func Again(s store.Store) store.Store { return again{s} }

type again struct{ store.Store }

func (a again) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	_ = a.Store.Read(ctx, fn) // the second run counts
	return a.Store.Read(ctx, fn)
}

func (a again) Write(ctx context.Context, fn func(store.Tx) error) error {
	_ = a.Store.Write(ctx, func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return store.ErrRollback
	})
	return a.Store.Write(ctx, fn)
}
