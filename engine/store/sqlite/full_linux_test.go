package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"marquee/engine/disk"
	"marquee/engine/store"
)

// mount makes a file system of a size.
func mount(t *testing.T, options string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, options); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a small file system")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// TestUpgradeWithoutRoom checks that a store for whose copy the disk has no room is not
// upgraded, and leaves nothing behind.
func TestUpgradeWithoutRoom(t *testing.T) {
	for _, size := range []string{"size=5m", "size=6m", "size=7m"} {
		t.Run(size, func(t *testing.T) {
			folder := mount(t, size)
			options := Options{Path: filepath.Join(folder, "marquee.db")}
			firstStore(t, options)
			c, err := openWriter(options)
			if err != nil {
				t.Fatal(err)
			}
			err = c.exec("CREATE TABLE large (content BLOB)")
			for range 10 {
				err = errors.Join(err, c.exec("INSERT INTO large VALUES (randomblob(400000)); PRAGMA wal_checkpoint(TRUNCATE)"))
			}
			if err := errors.Join(err, c.close()); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), options)
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			notUsableError(t, err, "no room", "--no-upgrade-backup", options.Path)
			if version := versionOf(t, options); version != 1 {
				t.Errorf("version %d", version)
			}
			entries, err := os.ReadDir(folder)
			if err != nil || len(entries) != 1 { // the store
				t.Errorf("left are %v %v", entries, err)
			}
			options.NoUpgradeCopy = true
			if s := openTest(t, options); s.Close() != nil {
				t.Error("the store cannot be closed")
			}
		})
	}
}

// TestFullFileSystem fills a real file system. Unlike a page limit, it fails at
// the commit, when each transaction of the group has already succeeded.
func TestFullFileSystem(t *testing.T) {
	folder := mount(t, "size=1m")
	g := newGate()
	s := openTest(t, Options{Path: filepath.Join(folder, "marquee.db"), BeforeCommit: g.pass})
	ensureThings(t, s)
	tooLarge := map[int]bool{3: true, 7: true}
	for i, err := range g.queue(t, s, 10, func(i int, tx store.Tx) error {
		if tooLarge[i] {
			return tx.Put(t.Context(), "things", batch(i, 500, 4000))
		}
		return tx.Put(t.Context(), "things", batch(i, 1, 100))
	}) {
		if code, ok := store.CodeOf(err); tooLarge[i] && (!ok || code != store.CodeFull) || !tooLarge[i] && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := stored(t, s); n != 8 {
		t.Errorf("%d stored, want 8", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s = openTest(t, Options{Path: s.options.Path})
	if n := stored(t, s); n != 8 {
		t.Errorf("%d stored after opening again", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestWipeWithoutRoom: a file is not rewritten if the disk has no room for another copy, and
// is when there is.
func TestWipeWithoutRoom(t *testing.T) {
	folder := mount(t, "size=20m")
	options := Options{Path: filepath.Join(folder, "marquee.db")}
	s, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := openWriter(options)
	if err != nil {
		t.Fatal(err)
	}
	err = c.exec("CREATE TABLE large (content BLOB)")
	for range 10 {
		err = errors.Join(err, c.exec("INSERT INTO large VALUES (randomblob(400000)); PRAGMA wal_checkpoint(TRUNCATE)"))
	}
	if err := errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 13<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := disk.Of(folder)
	rewritten, err := s.Wipe(t.Context())
	var full *store.Error
	if !errors.As(err, &full) || full.Code != store.CodeFull || rewritten != 0 {
		t.Errorf("without room: %d %v", rewritten, err)
	}
	if after, _ := disk.Of(folder); after.Free < before.Free {
		t.Errorf("of %d bytes, %d are free", before.Free, after.Free)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if rewritten, err := s.Wipe(t.Context()); err != nil || rewritten < 4_000_000 {
		t.Errorf("with room: %d %v", rewritten, err)
	}
}
