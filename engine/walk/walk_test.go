package walk_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/engine/walk"
)

// A walk visits each record once, in the order of their keys and in all networks.
func TestSteps(t *testing.T) {
	s := openThings(t)
	var want []store.Key
	var writes []store.Write
	for i := range 3 * walk.FirstStep {
		key := store.Key{Network: fmt.Sprint("n", i/100), ID: fmt.Sprintf("r%03d", i)}
		want = append(want, key)
		writes = append(writes, newThing(key))
	}
	put(t, s, writes...)
	var visited []store.Key
	steps := 0
	err := walk.Steps(t.Context(), s, "things", func(tx store.Tx, records []*store.Record) error {
		steps++
		for _, r := range records {
			visited = append(visited, r.Key)
		}
		return nil
	}, func() {})
	if err != nil || !slices.Equal(visited, want) {
		t.Errorf("the walk visited %v (%v), want %v", visited, err, want)
	}
	if steps < 2 {
		t.Errorf("all records were visited in %d steps", steps)
	}
}

// A step that meets another write runs again with fewer records, which it reads again.
func TestStepsMeetAnotherWrite(t *testing.T) {
	s := openThings(t)
	first := store.Key{Network: "n", ID: "r000"}
	var writes []store.Write
	for i := range walk.FirstStep {
		writes = append(writes, newThing(store.Key{Network: "n", ID: fmt.Sprintf("r%03d", i)}))
	}
	put(t, s, writes...)
	other := make(chan error, 1)
	var sizes []int
	var revision int64
	err := walk.Steps(t.Context(), s, "things", func(tx store.Tx, records []*store.Record) error {
		sizes = append(sizes, len(records))
		if len(sizes) == 1 {
			again := newThing(first)
			again.Expected, again.Version = 1, 2
			go func() {
				other <- s.Write(context.Background(), func(tx store.Tx) error {
					return tx.Put(context.Background(), "things", []store.Write{again})
				})
			}()
		}
		if records[0].Key == first && records[0].Revision == 1 {
			return &store.Error{Code: store.CodeConflict}
		}
		if records[0].Key == first {
			revision = records[0].Revision
		}
		return nil
	}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-other; err != nil {
		t.Fatal(err)
	}
	if sizes[0] != walk.FirstStep || sizes[1] != walk.FirstStep/2 {
		t.Errorf("the steps have %v records, want %d and then half as many", sizes, walk.FirstStep)
	}
	if revision != 2 {
		t.Errorf("the step ends with revision %d of the changed record, want 2", revision)
	}
}

func openThings(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "marquee.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "things"}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func newThing(key store.Key) store.Write {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	return store.Write{Record: store.Record{Key: key, Version: 1, State: "ACTIVE", CreateTime: now, UpdateTime: now, Document: []byte(`{}`)}}
}

func put(t *testing.T, s store.Store, writes ...store.Write) {
	t.Helper()
	if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", writes) }); err != nil {
		t.Fatal(err)
	}
}
