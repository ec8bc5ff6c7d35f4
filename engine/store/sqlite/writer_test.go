package sqlite

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

func ensureThings(t *testing.T, s *Store) {
	t.Helper()
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "things"}}); err != nil {
		t.Fatal(err)
	}
}

// batch returns n new records of a size, with ids that contain the number of
// the batch.
func batch(number, n, size int) []store.Write {
	writes := make([]store.Write, n)
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range writes {
		writes[i] = store.Write{Record: store.Record{Key: store.Key{Network: "n", ID: fmt.Sprintf("%d-%d", number, i)}, Version: 1,
			State: "ACTIVE", CreateTime: at, UpdateTime: at, Document: []byte(`{"a":"` + strings.Repeat("x", size) + `"}`)}}
	}
	return writes
}

// stored returns the number of records, counted and found.
func stored(t *testing.T, s *Store) int {
	t.Helper()
	found := 0
	if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
		q := query.Query{Collection: "things", Network: "n", Order: query.Order{Field: query.Field{System: query.ID}}, Limit: 1 << 30}
		if err := snapshot.Find(t.Context(), q, func(*store.Record) error { found++; return nil }); err != nil {
			return err
		}
		n, err := snapshot.Count(t.Context(), q)
		if int(n) != found {
			t.Errorf("%d counted, %d found", n, found)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// gate holds the first commit after it was armed, until it is opened.
type gate struct {
	armed         bool
	held, release chan struct{}
}

func newGate() *gate { return &gate{held: make(chan struct{}), release: make(chan struct{})} }

// pass is a BeforeCommit, called only by the writer.
func (g *gate) pass() {
	if g.armed {
		g.armed = false
		close(g.held)
		<-g.release
	}
}

// queue submits writes while the first is held at its commit, waits until all
// others are queued, releases it, and returns the results. The first is number
// 0.
func (g *gate) queue(t *testing.T, s *Store, n int, fn func(i int, tx store.Tx) error) []error {
	t.Helper()
	results, done := make([]error, n), make(chan int, n)
	submit := func(i int) {
		results[i] = s.Write(t.Context(), func(tx store.Tx) error { return fn(i, tx) })
		done <- i
	}
	g.armed = true
	s.writer.groupTime = time.Minute // however slow the machine is
	go submit(0)
	<-g.held
	for i := 1; i < n; i++ {
		go submit(i)
	}
	for s.writer.queue.len() < n-1 {
		select {
		case i := <-done:
			t.Fatalf("write %d is done before it was queued: %v", i, results[i])
		case <-time.After(time.Millisecond): // there is no signal that a job was queued
		}
	}
	close(g.release)
	for range n {
		<-done
	}
	return results
}

// TestGroupCommit checks that transactions that wait during a commit share the
// next one.
func TestGroupCommit(t *testing.T) {
	g := newGate()
	s := openTest(t, Options{BeforeCommit: g.pass})
	ensureThings(t, s)
	before := s.Commits()
	const writers = 64
	for i, err := range g.queue(t, s, writers, func(i int, tx store.Tx) error {
		return tx.Put(t.Context(), "things", batch(i, 1, 10))
	}) {
		if err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := s.Commits() - before; n != 2 {
		t.Errorf("%d commits for %d writers, want the first's and one of all others", n, writers)
	}
	if n := stored(t, s); n != writers {
		t.Errorf("%d stored", n)
	}
}

// TestGroupFaults checks that a failing transaction of a group does not affect
// the others.
func TestGroupFaults(t *testing.T) {
	g := newGate()
	s := openTest(t, Options{BeforeCommit: g.pass})
	ensureThings(t, s)
	before := s.Commits()
	own := errors.New("own")
	const writers = 30
	for i, err := range g.queue(t, s, writers, func(i int, tx store.Tx) error {
		if err := tx.Put(t.Context(), "things", batch(i, 2, 10)); err != nil {
			return err
		}
		switch i % 5 {
		case 1:
			return own
		case 2:
			panic("in a group")
		case 3:
			return tx.Put(t.Context(), "things", batch(i, 1, 10)) // is there already
		}
		return nil
	}) {
		code, ok := store.CodeOf(err)
		switch i % 5 {
		case 1:
			ok = err == own
		case 2:
			ok = ok && code == store.CodeInternal && strings.Contains(err.Error(), "in a group")
		case 3:
			ok = ok && code == store.CodeConflict
		default:
			ok = err == nil
		}
		if !ok {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := s.Commits() - before; n != 2 {
		t.Errorf("%d commits", n)
	}
	if n := stored(t, s); n != writers/5*2*2 {
		t.Errorf("%d stored", n)
	}
}

// TestCloseWaits checks that what was accepted before Close is stored, and what
// comes later is refused.
func TestCloseWaits(t *testing.T) {
	g := newGate()
	s := openTest(t, Options{BeforeCommit: g.pass})
	ensureThings(t, s)
	g.armed = true
	first := make(chan error)
	go func() {
		first <- s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", batch(1, 1, 10)) })
	}()
	<-g.held
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for s.Read(t.Context(), func(store.Snapshot) error { return nil }) == nil { // not yet closed
		runtime.Gosched()
	}
	close(g.release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	s = openTest(t, Options{Path: s.options.Path})
	if n := stored(t, s); n != 1 {
		t.Errorf("%d stored", n)
	}
}

// TestKeysOfRolledBackWrites checks that a key of terms that a transaction added before
// it failed is added again by the next one, alone and behind another one in its group.
func TestKeysOfRolledBackWrites(t *testing.T) {
	g := newGate()
	s := openTest(t, Options{BeforeCommit: g.pass})
	ensureThings(t, s)
	failed := errors.New("failed")
	put := func(tx store.Tx, number int, key string) error {
		writes := batch(number, 1, 10)
		writes[0].AddTerms = []store.Term{{Key: key, Value: "x"}}
		return tx.Put(t.Context(), "things", writes)
	}
	if err := s.Write(t.Context(), func(tx store.Tx) error { return errors.Join(put(tx, 0, "alone"), failed) }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	// Behind the first commit, the second job of the group adds a key and fails, and runs
	// again when it has.
	order, places := int32(0), [5]int32{}
	results := g.queue(t, s, 5, func(i int, tx store.Tx) error {
		if places[i] == 0 {
			order++
			places[i] = order
		}
		switch places[i] {
		case 1, 2:
			return put(tx, i, "alone")
		case 3:
			return errors.Join(put(tx, i, "grouped"), failed)
		}
		return put(tx, i, "grouped")
	})
	if err := errors.Join(results...); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	for key, want := range map[string]int64{"alone": 2, "grouped": 2} {
		if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
			n, err := snapshot.Count(t.Context(), query.Query{Collection: "things", Network: "n", Where: query.Term{Key: key, Value: "x"}})
			if n != want {
				t.Errorf("%d records with %q, want %d", n, key, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}
