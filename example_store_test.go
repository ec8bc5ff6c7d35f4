package marquee_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"marquee"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/engine/store/storetest"
)

// countingStore is a custom store: it counts the transactions of another.
type countingStore struct {
	store.Store
	writes atomic.Int64
}

func (s *countingStore) Write(ctx context.Context, fn func(store.Tx) error) error {
	s.writes.Add(1)
	return s.Store.Write(ctx, fn)
}

func openCounting(path string) (*countingStore, error) {
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
	return &countingStore{Store: s}, err
}

// TestCountingStore runs the conformance suite, which every store has to pass.
func TestCountingStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{Open: func(t testing.TB) store.Store {
		s, err := openCounting(filepath.Join(t.TempDir(), "test.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}})
}

// A server on a custom store. A store must pass the suite of package
// storetest, as TestCountingStore in the file of this example shows.
func Example_store() {
	folder := temporary()
	defer os.RemoveAll(folder)
	counting, err := openCounting(filepath.Join(folder, "own.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer counting.Close()
	server, err := marquee.New(marquee.Options{Store: counting, Schemas: notes})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	before := counting.writes.Load()
	_, err = server.Write(context.Background(), "", "networks", map[string]any{"name": "Main"})
	fmt.Println(counting.writes.Load() > before, err)
	// Output: true <nil>
}
