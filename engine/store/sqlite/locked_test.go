package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/store"
)

// TestLocked: a program that holds a lock on the file, such as a shell in the middle of
// a transaction, delays a write, which can be tried again.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locked.db")
	s := openTest(t, Options{Path: path})
	ensureThings(t, s)
	if err := s.writer.conn.db.BusyTimeout(10 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	shell, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close()
	put := func() error {
		return s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", batch(0, 1, 10)) })
	}
	if err := shell.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if code, _ := store.CodeOf(put()); code != store.CodeBusy {
		t.Errorf("while the file is locked, the error code is %v", code)
	}
	if err := shell.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := put(); err != nil {
		t.Errorf("when it is no longer locked: %v", err)
	}
}
