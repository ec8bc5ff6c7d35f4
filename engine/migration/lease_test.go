package migration

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"marquee/engine/catalog"
	"marquee/engine/store/sqlite"
)

// TestTurns checks that work which is done in turns lets those who wait go first, in the order in
// which they came, and that who gives up does not hold up the others.
func TestTurns(t *testing.T) {
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: t.TempDir() + "/s.db"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	synctest.Test(t, func(t *testing.T) {
		m := New(&catalog.Catalog{Store: s}, nil, nil)
		var order []string
		waiting := make(chan struct{}) // is closed when all others wait
		part := func(name string) func(context.Context, *lease) error {
			return func(context.Context, *lease) error {
				<-waiting
				order = append(order, name)
				return nil
			}
		}
		var work sync.WaitGroup
		work.Go(func() {
			for range 4 {
				if err := m.turn(t.Context(), part("turn")); err != nil {
					t.Error(err)
				}
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		for _, other := range []struct {
			name string
			ctx  context.Context
			err  error
		}{{"first", t.Context(), nil}, {"gives up", ctx, context.Canceled}, {"second", t.Context(), nil}} {
			work.Go(func() {
				if err := m.alone(other.ctx, part(other.name)); err != other.err {
					t.Errorf("%s: %v", other.name, err)
				}
			})
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		close(waiting)
		work.Wait()
		if want := []string{"turn", "first", "second", "turn", "turn", "turn"}; !slices.Equal(order, want) {
			t.Errorf("the order is %q, want %q", order, want)
		}
	})
}
