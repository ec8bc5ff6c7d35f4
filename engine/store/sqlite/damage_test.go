package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/engine/store"
)

// TestDamagedUntilReplaced checks that a store that was found damaged accepts no more
// writes, also where it is sound, and is not opened again before its file is replaced by
// a sound one.
func TestDamagedUntilReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marquee.db")
	seed(t, path)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := openTest(t, Options{Path: path})
	if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "others"}}); err != nil {
		t.Fatal(err)
	}
	var root int64
	get := func(collection string) error {
		return s.Read(t.Context(), func(snapshot store.Snapshot) error {
			err := snapshot.Get(t.Context(), collection, []store.Key{batch(0, 1, 1)[0].Key}, func(*store.Record) error { return nil })
			if err == nil {
				root, err = snapshot.(*view).conn.number("SELECT rootpage FROM sqlite_master WHERE name='r_things'")
			}
			return err
		})
	}
	damaged := func(err error) bool {
		code, _ := store.CodeOf(err)
		return code == store.CodeDamaged
	}
	if err := errors.Join(get("things"), s.Close()); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, (root-1)*4096, bytes.Repeat([]byte{0xee}, 4096))
	var log bytes.Buffer
	s = openTest(t, Options{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
	put := func() error {
		return s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "others", batch(0, 1, 10)) })
	}
	if err := put(); err != nil {
		t.Errorf("before the damage is known: %v", err)
	}
	if err := get("things"); !damaged(err) {
		t.Errorf("the damaged table: %v", err)
	}
	if err := put(); !damaged(err) {
		t.Errorf("a write: %v", err)
	}
	if lines := log.String(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "level=ERROR") || !strings.Contains(lines, "accepts no more writes") {
		t.Errorf("the log: %s", lines)
	}
	if err := get("others"); err != nil {
		t.Errorf("a read of another table: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := Open(t.Context(), Options{Path: path})
		if err == nil {
			s.Close()
			t.Fatal("opened")
		}
		notUsableError(t, err, "found damaged; restore it from a backup", path)
	}
	write(t, path, sound)
	for range 2 { // the second start does not check
		s := openTest(t, Options{Path: path})
		if n := stored(t, s); n != 300 {
			t.Errorf("%d stored", n)
		}
		if _, err := os.Stat(s.damageMark()); !os.IsNotExist(err) {
			t.Errorf("the mark: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamageEndsAGroup checks that nothing is committed with a call that finds damage.
func TestDamageEndsAGroup(t *testing.T) {
	s := openTest(t, Options{})
	ensureThings(t, s)
	err := s.Write(t.Context(), func(tx store.Tx) error {
		_ = s.observe(t.Context(), &store.Error{Code: store.CodeDamaged, Text: "found by another"})
		return tx.Put(t.Context(), "things", batch(1, 1, 10))
	})
	if code, _ := store.CodeOf(err); code != store.CodeDamaged {
		t.Errorf("got %v", err)
	}
	if n := stored(t, s); n != 0 {
		t.Errorf("%d stored", n)
	}
}
