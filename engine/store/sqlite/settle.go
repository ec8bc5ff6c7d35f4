package sqlite

import (
	"context"

	"marquee/engine/store"
)

// Settle implements store.Store. The writer runs the transactions of a kind in
// order, so the last of each kind ends after all others.
func (s *Store) Settle(ctx context.Context) error {
	for _, extensive := range []bool{false, true} {
		kind := store.WithEffort(ctx, store.Effort{Extensive: extensive})
		if err := s.writer.submit(kind, func(*transaction) error { return nil }); err != nil {
			return s.observe(ctx, err)
		}
	}
	return nil
}

// Serial implements store.Store.
func (s *Store) Serial() bool { return true }
