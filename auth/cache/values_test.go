package cache

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// gated is a store whose reads wait, each for an error or nil, and report that they do.
type gated struct {
	store.Store
	asked, begun chan struct{}
	open         chan error
}

// Recent implements store.Store.
func (g *gated) Recent(collections ...string) (string, bool) {
	revision, known := g.Store.Recent(collections...)
	g.asked <- struct{}{}
	return revision, known
}

// Read implements store.Store.
func (g *gated) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	g.begun <- struct{}{}
	if err := <-g.open; err != nil {
		return err
	}
	return g.Store.Read(ctx, fn)
}

// TestCallsReadTogether lets calls want the same value at the same time: from the
// beginning, after a change, and when the read that the others wait for fails.
func TestCallsReadTogether(t *testing.T) {
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "users"}}); err != nil {
		t.Fatal(err)
	}
	g := &gated{s, make(chan struct{}, 100), make(chan struct{}, 100), make(chan error)}
	values := New[string, int64](g, nil, "users")
	var wg sync.WaitGroup
	failures := make(chan error, 100)
	want := func(calls int) {
		for range calls {
			wg.Go(func() {
				_, err := values.Find(t.Context(), "a", func(store.Snapshot) (int64, bool, error) { return 1, true, nil })
				if err != nil {
					failures <- err
				}
			})
		}
		for range calls {
			<-g.asked
		}
	}
	want(5)
	g.open <- nil
	wg.Wait()
	want(1)
	wg.Wait()
	if n := len(g.begun); n != 1 {
		t.Errorf("%d reads for one value", n)
	}
	<-g.begun

	change := func() {
		w := store.InternalWrite(store.Record{Key: store.Key{ID: store.NewID()}}, "ACTIVE", []byte("{}"), time.Now())
		if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "users", []store.Write{w}) }); err != nil {
			t.Fatal(err)
		}
	}
	change()
	want(1)
	<-g.begun
	change() // which what is being read may not have
	want(1)
	<-g.begun
	g.open <- nil
	g.open <- nil
	wg.Wait()

	change()
	want(3)
	g.open <- errors.New("the read failed") // of one call alone
	g.open <- nil
	wg.Wait()
	if len(failures) != 1 || len(g.begun) != 2 {
		t.Errorf("%d reads and %d failures", len(g.begun), len(failures))
	}
}
