package sqlite

import (
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
)

// TestCheckpointIsNotDurable checks that nothing is lost when the disk does not confirm a
// checkpoint, later confirms others, and loses its power.
func TestCheckpointIsNotDurable(t *testing.T) {
	d := newDisk(t, 1)
	s := openTest(t, d.options())
	ensureThings(t, s)
	put := func(n int) {
		t.Helper()
		if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", batch(n, 20, 3000)) }); err != nil {
			t.Error(err)
		}
	}
	put(1)
	if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
		_, err := snapshot.Count(t.Context(), query.Query{Collection: "things", Network: "n"})
		checkpointOften(t, s)
		put(2)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	d.fail(fsync, 2)
	d.chances = []int{2, 2, 0}
	put(3)
	d.fail(nothing, 0)
	d.chances = nil
	if s.Note() == "" {
		t.Error("operators are not told of the failure")
	}
	put(4)
	put(5)
	put(6)
	d.chances = []int{0, 0, 0, 0}
	cut := openTest(t, d.cut(t, true).options())
	if err := cut.Verify(t.Context(), func(fault string) error { t.Log(fault); return nil }); err != nil {
		t.Error(err)
	}
	if n := stored(t, cut); n != 120 {
		t.Errorf("%d stored", n)
	}
}
