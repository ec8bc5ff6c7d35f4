package sqlite

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"marquee/engine/store"
)

// emptyFile makes a file for a backup.
func emptyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a copy?#%.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// openCopy opens a copy, and checks that it is sound.
func openCopy(t *testing.T, path string) *Store {
	t.Helper()
	s, err := OpenCopy(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Verify(t.Context(), func(fault string) error { t.Error(fault); return nil }); err != nil {
		t.Error(err)
	}
	return s
}

// put stores a batch.
func put(t *testing.T, s *Store, number, n, size int) {
	t.Helper()
	if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", batch(number, n, size)) }); err != nil {
		t.Error(err)
	}
}

// TestBackupBesideWrites: a copy has everything that was stored before it began, whatever is
// written meanwhile, and the log does not grow until it ends.
func TestBackupBesideWrites(t *testing.T) {
	s := openTest(t, Options{})
	ensureThings(t, s)
	for i := range 3 {
		put(t, s, i, 100, 100<<10)
	}
	before := stored(t, s)
	path := emptyFile(t)
	var log, written int64
	next := 100
	err := s.Backup(t.Context(), path, func(done, total int64) {
		if done < 0 || done > total || total < 10<<20 {
			t.Errorf("%d of %d bytes are copied", done, total)
		}
		put(t, s, next, 6, 100<<10)
		next++
		written += 600 << 10
		info, err := os.Stat(s.options.Path + "-wal")
		if err != nil {
			t.Error(err)
		}
		log = max(log, info.Size())
	})
	if err != nil {
		t.Fatal(err)
	}
	if written < 3*maxLog/2 || log > 5*maxLog/4 {
		t.Errorf("the log had %d bytes while %d were written", log, written)
	}
	c := openCopy(t, path)
	if n := stored(t, c); n < before || n > stored(t, s) || n == before {
		t.Errorf("the copy has %d records of %d to %d", n, before, stored(t, s))
	}
	if numbers, err := c.Records(t.Context()); err != nil || numbers["things"] != int64(stored(t, c)) {
		t.Errorf("%v, %v", numbers, err)
	}
	if files, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(files) != 1 {
		t.Errorf("beside the copy: %v", files)
	}
}

// TestBackupBesideRewriting: the copy of a store that is rewritten meanwhile is sound.
func TestBackupBesideRewriting(t *testing.T) {
	s := openTest(t, Options{})
	ensureThings(t, s)
	put(t, s, 1, 2000, 2000)
	path, wiped := emptyFile(t), false
	err := s.Backup(t.Context(), path, func(int64, int64) {
		if !wiped {
			wiped = true
			if _, err := s.Wipe(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := stored(t, openCopy(t, path)); n != 2000 {
		t.Errorf("the copy has %d records", n)
	}
}

// TestBackupIsBrokenOff: the store can be used and closed after a backup that was broken off,
// and a backup ends although the store is rewritten after each step.
func TestBackupIsBrokenOff(t *testing.T) {
	s := openTest(t, Options{})
	ensureThings(t, s)
	put(t, s, 1, 2000, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Backup(ctx, emptyFile(t), func(int64, int64) { cancel() }); !failsAs(err, store.CodeDeadline) {
		t.Errorf("a context that ended: %v", err)
	}
	if err := s.Backup(t.Context(), filepath.Join(t.TempDir(), "missing"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	path := emptyFile(t)
	err := s.Backup(t.Context(), path, func(int64, int64) {
		if err := s.Backup(t.Context(), path, nil); !failsAs(err, store.CodeBusy) {
			t.Errorf("a second backup: %v", err)
		}
	})
	if err != nil {
		t.Error(err)
	}
	err = s.Backup(t.Context(), emptyFile(t), func(int64, int64) {
		if _, err := s.Wipe(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Errorf("a store that is rewritten after each step: %v", err)
	}
	put(t, s, 2, 1, 10)
	if err := s.Backup(t.Context(), emptyFile(t), func(int64, int64) {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}); err == nil {
		t.Error("a backup of a closed store")
	}
}

func failsAs(err error, code store.Code) bool {
	found, _ := store.CodeOf(err)
	return found == code
}

// copyFiles copies a store that is open, with its log.
func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		in, err := os.Open(from + suffix)
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(to + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
		in.Close()
		out.Close()
	}
}

// TestReplacedStore: a store is replaced together with its log, also when the process dies
// at any step, and not before the new file is complete.
func TestReplacedStore(t *testing.T) {
	old := openTest(t, Options{})
	ensureThings(t, old)
	put(t, old, 1, 10, 10)
	path := filepath.Join(t.TempDir(), "marquee.db")
	copyFiles(t, old.options.Path, path) // as after a crash: the records are in the log
	fresh := openTest(t, Options{})
	ensureThings(t, fresh)
	put(t, fresh, 2, 3, 10)
	prepared := filepath.Join(filepath.Dir(path), "prepared")
	prepare := func() {
		if err := os.WriteFile(prepared, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := fresh.Backup(t.Context(), prepared, nil); err != nil {
			t.Fatal(err)
		}
	}
	has := func(want int) {
		t.Helper()
		s, err := Open(t.Context(), Options{Path: path, MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		if n := stored(t, s); n != want {
			t.Errorf("%d records instead of %d", n, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	prepare()
	has(10)
	steps := []func(){
		func() {},
		func() { os.Remove(path + "-wal") },
		func() { os.Remove(path + "-wal"); os.Remove(path + "-shm") },
		func() { os.Remove(path + "-wal"); os.Remove(path) }, // a place without a store
	}
	for _, crash := range steps {
		copyFiles(t, old.options.Path, path)
		prepare()
		if err := os.Rename(prepared, restoredPath(path)); err != nil {
			t.Fatal(err)
		}
		crash()
		has(3)
	}
	copyFiles(t, old.options.Path, path)
	if err := os.WriteFile(path+".damaged", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	prepare()
	place, err := Reserve(path)
	if err != nil || !place.Taken() {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Path: path}); !errors.Is(err, ErrInUse) {
		t.Errorf("a reserved place: %v", err)
	}
	if err := errors.Join(place.Put(prepared), place.Close()); err != nil {
		t.Fatal(err)
	}
	has(3)
	if _, err := os.Stat(path + ".damaged"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark of the damage: %v", err)
	}
}

// TestReplacementIsCompleted: Put says whether the next one to open the store completes what it
// could not.
func TestReplacementIsCompleted(t *testing.T) {
	fresh := openTest(t, Options{})
	ensureThings(t, fresh)
	put(t, fresh, 1, 3, 10)
	path := filepath.Join(t.TempDir(), "marquee.db")
	prepared := filepath.Join(filepath.Dir(path), "prepared")
	if err := os.WriteFile(prepared, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := fresh.Backup(t.Context(), prepared, nil); err != nil {
		t.Fatal(err)
	}
	place, err := Reserve(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Put(prepared + "-missing"); err == nil || errors.Is(err, ErrDecided) {
		t.Errorf("nothing has changed, and the error is %v", err)
	}
	hindrance := filepath.Join(path+"-wal", "file")
	if err := errors.Join(os.Mkdir(filepath.Dir(hindrance), 0o700), os.WriteFile(hindrance, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := place.Put(prepared); !errors.Is(err, ErrDecided) {
		t.Errorf("the replacement is decided, and the error is %v", err)
	}
	if err := errors.Join(place.Close(), os.RemoveAll(filepath.Dir(hindrance))); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, Options{Path: path, MustExist: true})
	if n := stored(t, s); n != 3 {
		t.Errorf("%d records instead of 3", n)
	}
}

// TestReserveLinked: a store that is open under another name cannot be replaced.
func TestReserveLinked(t *testing.T) {
	path, link := filepath.Join(t.TempDir(), "store.db"), filepath.Join(t.TempDir(), "link.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{Path: link})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if place, err := Reserve(path); !errors.Is(err, ErrInUse) {
		t.Errorf("the place of an open store was reserved: %v", errors.Join(err, place.Close()))
	}
}
