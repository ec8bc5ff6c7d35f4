package mongo

import (
	"context"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// whileOpen calls do while a transaction of a store is open.
func whileOpen(t *testing.T, s *Store, do func(ctx context.Context) error) {
	t.Helper()
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	err := s.Write(t.Context(), func(tx store.Tx) error {
		if err := countUp(t.Context(), tx, hotKey); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), goneAfter)
		defer cancel()
		return do(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSettleOfOtherDatabases: Settle does not wait for the transactions of servers that
// use another database.
func TestSettleOfOtherDatabases(t *testing.T) {
	t.Parallel()
	s, other := openTest(t, Options{URI: mongodb.URI(t)}), openTest(t, Options{URI: mongodb.URI(t)})
	whileOpen(t, other, func(ctx context.Context) error { return s.Settle(ctx, time.Now()) })
}

// TestSettleOfLaterWrites: Settle does not wait for transactions that have begun after the
// time.
func TestSettleOfLaterWrites(t *testing.T) {
	t.Parallel()
	at, uri := time.Now(), mongodb.URI(t)
	s, other := openTest(t, Options{URI: uri}), openTest(t, Options{URI: uri})
	whileOpen(t, other, func(ctx context.Context) error { return s.Settle(ctx, at) })
}

// TestSettleForbidden: without the permission to ask for transactions, Settle waits until
// MongoDB has ended those that were open.
func TestSettleForbidden(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	f.failing(failPoint{at: step{command: "aggregate"}, data: faultCode(13)}, func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if code, _ := store.CodeOf(f.s.Settle(ctx, time.Now())); code != store.CodeDeadline {
			t.Errorf("does not wait for what may be open: %v", code)
		}
		// Of a limit of 100 seconds, MongoDB looks for transactions every 50.
		for after, waits := range map[time.Duration]bool{150 * time.Second: true, horizonSeconds * time.Second: false} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := f.s.Settle(ctx, time.Now().Add(-after))
			cancel()
			if (err != nil) != waits {
				t.Errorf("%v afterwards: %v", after, err)
			}
		}
	})
}
