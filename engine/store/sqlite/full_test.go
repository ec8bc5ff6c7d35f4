package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"marquee/engine/store"
)

// limitPages limits the growth of the file to a number of pages.
func limitPages(t *testing.T, s *Store, more int64) {
	t.Helper()
	// The writer owns the connection.
	if err := s.writer.submit(t.Context(), func(tx *transaction) error {
		pages, err := tx.conn.pragma("page_count")
		if err != nil {
			return err
		}
		_, err = tx.conn.number(fmt.Sprintf("PRAGMA max_page_count=%d", pages+more))
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk checks that what does not fit is refused, and everything else
// works.
func TestFullDisk(t *testing.T) {
	g := newGate()
	s := openTest(t, Options{BeforeCommit: g.pass})
	ensureThings(t, s)
	put := func(number, n, size int) error {
		return s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", batch(number, n, size)) })
	}
	if err := put(100, 50, 500); err != nil {
		t.Fatal(err)
	}
	limitPages(t, s, 40)

	full := func(err error) bool {
		code, ok := store.CodeOf(err)
		return ok && code == store.CodeFull && strings.Contains(err.Error(), "disk is full")
	}
	revision, _ := s.Recent("things")
	if err := put(101, 1000, 4000); !full(err) {
		t.Fatalf("too much: %v", err)
	}
	if now, ok := s.Recent("things"); !ok || now != revision {
		t.Errorf("the value was %s and is %s", revision, now)
	}
	if n := stored(t, s); n != 50 {
		t.Fatalf("%d stored, want those from before", n)
	}

	// Of a group, those that fit are stored, before and after those that do
	// not.
	tooLarge := map[int]bool{3: true, 7: true}
	for i, err := range g.queue(t, s, 10, func(i int, tx store.Tx) error {
		if tooLarge[i] {
			return tx.Put(t.Context(), "things", batch(i, 1000, 4000))
		}
		return tx.Put(t.Context(), "things", batch(i, 1, 100))
	}) {
		if tooLarge[i] && !full(err) || !tooLarge[i] && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := stored(t, s); n != 58 {
		t.Errorf("%d stored, want 50 and 8", n)
	}

	// There is room again.
	limitPages(t, s, 1<<20)
	if err := put(102, 1000, 4000); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, Options{Path: s.options.Path})
	if n := stored(t, s); n != 1058 {
		t.Errorf("%d stored after opening again", n)
	}
}

// TestFullDiskIsNotOverlooked checks that a function which ignores a full disk,
// after which SQLite has rolled back the whole transaction, does not write
// outside of it.
func TestFullDiskIsNotOverlooked(t *testing.T) {
	s := openTest(t, Options{})
	ensureThings(t, s)
	limitPages(t, s, 40)
	err := s.Write(t.Context(), func(tx store.Tx) error {
		_ = tx.Put(t.Context(), "things", batch(1, 1000, 4000))
		_ = tx.Put(t.Context(), "things", batch(2, 1, 10))
		return nil
	})
	if code, _ := store.CodeOf(err); code != store.CodeFull {
		t.Errorf("got %v", err)
	}
	if n := stored(t, s); n != 0 {
		t.Errorf("%d stored", n)
	}
}
