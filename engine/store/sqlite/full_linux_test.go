package sqlite

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"marquee/engine/store"
)

// TestFullFileSystem fills a real file system. Unlike a page limit, it fails at
// the commit, when each transaction of the group has already succeeded.
func TestFullFileSystem(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=1m"); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a small file system")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
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
