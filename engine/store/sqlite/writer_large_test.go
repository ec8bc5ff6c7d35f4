package sqlite

import (
	"errors"
	"os"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// TestLargeAlone checks that a transaction which turns out to be large after
// others have written in the same commit runs again as the first of the next,
// unnoticed by all of them.
func TestLargeAlone(t *testing.T) {
	g := newGate()
	s := openTest(t, Options{BeforeCommit: g.pass})
	ensureThings(t, s)
	before := s.Commits()
	own := errors.New("own")
	const writers = 12
	runs := make([]int, writers)
	for i, err := range g.queue(t, s, writers, func(i int, tx store.Tx) error {
		runs[i]++
		n := 1
		if i%4 == 2 || i%4 == 3 {
			n = maxShared/2 + 1
		}
		err := tx.Put(t.Context(), "things", batch(i, n, 10))
		switch i % 4 {
		case 1:
			return own
		case 2: // ignores its errors
			_ = tx.Put(t.Context(), "things", batch(100+i, n, 10))
			return nil
		case 3:
			return errors.Join(err, tx.Put(t.Context(), "things", batch(100+i, n, 10)), own)
		}
		return err
	}) {
		if i%2 == 1 && !errors.Is(err, own) || i%2 == 0 && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	again := 0
	for i, n := range runs {
		if small := i%4 < 2; n > 3 || small && n > 2 { // again behind one that fails
			t.Errorf("write %d ran %d times", i, n)
		}
		again += n - 1
	}
	if again == 0 { // in any order: of three that succeed, two come behind others
		t.Error("no large transaction ran again")
	}
	if n := s.Commits() - before; n < 3 || n > 8 {
		t.Errorf("%d commits", n)
	}
	if n := stored(t, s); n != 3*(1+2*(maxShared/2+1)) {
		t.Errorf("%d stored", n)
	}
}

// TestFirstFails checks that the writes of the first transaction of a group are
// rolled back without a savepoint, and those after it are unaffected.
func TestFirstFails(t *testing.T) {
	g := newGate()
	s := openTest(t, Options{BeforeCommit: g.pass})
	ensureThings(t, s)
	own := errors.New("own")
	const writers = 6
	var failing [writers]bool
	ran := 0
	for i, err := range g.queue(t, s, writers, func(i int, tx store.Tx) error {
		if err := tx.Put(t.Context(), "things", batch(i, 3, 10)); err != nil {
			return err
		}
		if ran++; ran > 1 && ran < 5 { // the second begins the group
			failing[i] = true
			return own
		}
		return nil
	}) {
		if failing[i] && err != own || !failing[i] && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if n := stored(t, s); n != 3*3 {
		t.Errorf("%d stored", n)
	}
}

// TestFailuresRunAgainOnce checks that transactions which fail after a write make a group
// run again once, and not each group after it.
func TestFailuresRunAgainOnce(t *testing.T) {
	var g *gate
	s := openTest(t, Options{BeforeCommit: func() {
		if g != nil {
			g.pass()
		}
	}})
	ensureThings(t, s)
	own := errors.New("own")
	const writers = 6
	for round, most := range []int{2 * writers, writers, writers} {
		runs, failing := 0, map[int]bool{}
		g = newGate()
		for i, err := range g.queue(t, s, writers, func(i int, tx store.Tx) error {
			if _, again := failing[i]; !again {
				failing[i] = len(failing)%2 == 1 // in the order in which they run
			}
			runs++
			if err := tx.Put(t.Context(), "things", batch(round*writers+i, 3, 10)); err != nil || !failing[i] {
				return err
			}
			return own
		}) {
			if failing[i] != (err != nil) || failing[i] && !errors.Is(err, own) {
				t.Errorf("write %d: %v", i, err)
			}
		}
		if runs > most || round == 0 && runs == writers {
			t.Errorf("round %d: %d writes run %d times", round, writers, runs)
		}
	}
	if n := stored(t, s); n != 3*3*writers/2 {
		t.Errorf("%d stored", n)
	}
}

// TestLargeLog checks that the log of a large transaction is truncated
// afterwards, or with the next write after a reader that needs it.
func TestLargeLog(t *testing.T) {
	s := openTest(t, Options{})
	ensureThings(t, s)
	put := func(number, n int) {
		t.Helper()
		if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", batch(number, n, 5000)) }); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		if err := s.Settle(t.Context(), time.Now()); err != nil { // waits for what the writer does after a commit
			t.Fatal(err)
		}
		info, err := os.Stat(s.options.Path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	const large = maxLog/5000 + maxShared
	put(1, large)
	if n := size(); n > 1<<20 {
		t.Errorf("the log has %d bytes", n)
	}
	err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
		if _, err := snapshot.Count(t.Context(), query.Query{Collection: "things"}); err != nil {
			return err
		}
		put(2, large)
		if n := size(); n < maxLog {
			t.Errorf("the log that a reader needs has %d bytes", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	put(3, 1) // copies what the reader held
	put(4, 1)
	if n := size(); n > maxLog {
		t.Errorf("the log has %d bytes after the reader has ended", n)
	}
	if n := stored(t, s); n != 2*large+2 {
		t.Errorf("%d are stored", n)
	}
}
