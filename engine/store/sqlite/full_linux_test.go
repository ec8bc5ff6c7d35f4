package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

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
			c, err := openConn(options, writerCacheKB)
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
			if err != nil || len(entries) != 2 { // the store and its lock
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
