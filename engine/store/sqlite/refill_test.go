package sqlite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// TestForgetRunsAgain checks that Forget drops the terms of all networks if one of its
// transactions runs again because another one of its group has failed.
func TestForgetRunsAgain(t *testing.T) {
	g := newGate()
	s := openTest(t, Options{BeforeCommit: g.pass})
	ensureThings(t, s)
	failed := errors.New("failed")
	put := func(number int, network string, after error) error {
		return s.Write(t.Context(), func(tx store.Tx) error {
			writes := batch(number, 1, 10)
			writes[0].Network, writes[0].AddTerms = network, []store.Term{{Key: "k", Value: "x"}}
			return errors.Join(tx.Put(t.Context(), "things", writes), after)
		})
	}
	networks := []string{"a", "b", "c"}
	for i, network := range networks {
		if err := put(i, network, nil); err != nil {
			t.Fatal(err)
		}
	}
	g.armed, s.writer.groupTime = true, time.Minute
	ended := make(chan error)
	start := func(call func() error) { go func() { ended <- call() }() }
	start(func() error { return put(7, "held", nil) })
	<-g.held
	for n, call := range []func() error{
		func() error { return put(8, "first", nil) },
		func() error { return s.Forget(t.Context(), "things", []string{"k"}, nil) },
		func() error {
			if err := put(9, "last", failed); !errors.Is(err, failed) {
				return fmt.Errorf("the last one returned %v", err)
			}
			return nil
		},
	} {
		start(call)
		waitFor(t, s, n+1)
	}
	close(g.release)
	for range 4 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	for _, network := range networks {
		if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
			n, err := snapshot.Count(t.Context(), query.Query{Collection: "things", Network: network, Where: query.Term{Key: "k", Value: "x"}})
			if n != 0 {
				t.Errorf("network %s still has %d terms", network, n)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}
