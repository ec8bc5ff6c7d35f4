package sqlite

import "context"

// Settle implements store.Store. The file has one writer, which runs what it
// is given in order: what comes behind all others has seen them end.
func (s *Store) Settle(ctx context.Context) error {
	return translate(ctx, s.writer.submit(ctx, func(*transaction) error { return nil }))
}
