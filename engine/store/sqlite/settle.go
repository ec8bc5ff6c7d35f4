package sqlite

import (
	"context"
	"time"
)

// Settle implements store.Store. The writer runs one transaction at a time, so another
// one ends after those that are running. Those that wait in the queue have not begun.
func (s *Store) Settle(ctx context.Context, _ time.Time) error {
	return s.observe(ctx, s.writer.submit(ctx, func(*transaction) error { return nil }))
}

// Now implements store.Store.
func (s *Store) Now(context.Context) (time.Time, error) { return time.Now(), nil }

// Serial implements store.Store.
func (s *Store) Serial() bool { return true }
