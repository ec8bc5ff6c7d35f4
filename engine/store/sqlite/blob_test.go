package sqlite

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"marquee/engine/store"
)

var aBlob = store.Key{Network: "n", ID: "blob"}

// putBlob puts a blob of n equal bytes.
func putBlob(t *testing.T, tx store.Tx, key store.Key, n int) error {
	return tx.PutBlob(t.Context(), key, int64(n), func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(bytes.Repeat([]byte{7}, n))), nil
	})
}

// blobSize returns the size of a blob, -1 when it does not exist.
func blobSize(t *testing.T, s *Store, key store.Key) int {
	t.Helper()
	n := 0
	if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
		_, found, err := snapshot.Blob(t.Context(), key, 0, math.MaxInt64, func(data []byte) error {
			n += len(data)
			return nil
		})
		if !found {
			n = -1
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFullDiskForBlobs checks that, of a group, the blobs that fit are stored
// whole, and nothing of the others.
func TestFullDiskForBlobs(t *testing.T) {
	g := newGate()
	s := openTest(t, Options{BeforeCommit: g.pass})
	ensureThings(t, s)
	limitPages(t, s, 400)
	tooLarge := map[int]bool{3: true, 7: true}
	key := func(i int) store.Key { return store.Key{Network: "n", ID: fmt.Sprint(i)} }
	for i, err := range g.queue(t, s, 10, func(i int, tx store.Tx) error {
		if err := tx.Put(t.Context(), "things", batch(i, 1, 100)); err != nil {
			return err
		}
		if tooLarge[i] {
			return putBlob(t, tx, key(i), 8<<20)
		}
		return putBlob(t, tx, key(i), 10_000)
	}) {
		if code, ok := store.CodeOf(err); tooLarge[i] && (!ok || code != store.CodeFull) || !tooLarge[i] && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
		want := 10_000
		if tooLarge[i] {
			want = -1
		}
		if n := blobSize(t, s, key(i)); n != want {
			t.Errorf("%d bytes of blob %d, want %d", n, i, want)
		}
	}
	if n := stored(t, s); n != 8 {
		t.Errorf("%d stored, want 8", n)
	}
	limitPages(t, s, 1<<20)
	if err := s.Write(t.Context(), func(tx store.Tx) error { return putBlob(t, tx, key(3), 8<<20) }); err != nil {
		t.Error(err)
	}
	if n := blobSize(t, s, key(3)); n != 8<<20 {
		t.Errorf("%d bytes after there was room", n)
	}
}

// TestDroppedPagesAreUsedAgain checks that the file does not grow when blobs
// come and go.
func TestDroppedPagesAreUsedAgain(t *testing.T) {
	s := openTest(t, Options{})
	pages := func() (n int64) {
		if err := s.Read(t.Context(), func(snapshot store.Snapshot) (err error) {
			n, err = snapshot.(*view).conn.pragma("page_count")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var first int64
	for i := range 5 {
		if err := s.Write(t.Context(), func(tx store.Tx) error { return putBlob(t, tx, aBlob, 4<<20) }); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = pages()
		}
		if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.DropBlobs(t.Context(), []store.Key{aBlob}) }); err != nil {
			t.Fatal(err)
		}
	}
	if n := pages(); n > first+10 {
		t.Errorf("%d pages, %d after the first blob", n, first)
	}
}

// TestBlobPlans checks that no more rows are read than requested.
func TestBlobPlans(t *testing.T) {
	s := openTest(t, Options{})
	for _, c := range []struct {
		sql  string
		args []any
		want string
	}{
		{piecesSQL, []any{"n", "id", 1, 2}, "(network=? AND id=? AND n>? AND n<?)"},
		{blobsSQL, []any{"n", "id", 1}, "((network,id)>(?,?))"},
		{"DELETE FROM blob_pieces WHERE network=? AND id=?", []any{"n", "id"}, "(network=? AND id=?)"},
	} {
		plan := strings.Join(explain(t, s, c.sql, c.args...), "\n")
		if !strings.HasPrefix(plan, "SEARCH ") || !strings.HasSuffix(plan, c.want) {
			t.Errorf("%s: %s", c.sql, plan)
		}
	}
}
