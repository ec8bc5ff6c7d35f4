package sqlite

import (
	"errors"
	"testing"

	"marquee/engine/store"
)

// TestLargeAlone: a transaction that turns out to be large while others have
// written before it in the same commit runs again as the first of the next,
// and neither it nor the others know.
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
		case 2: // which overlooks its errors
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
		if small := i%4 < 2; n > 2 || small && n != 1 {
			t.Errorf("write %d ran %d times", i, n)
		}
		again += n - 1
	}
	if again == 0 { // in whatever order they came: of three that succeed, two come behind others
		t.Error("no large transaction ran again")
	}
	if n := s.Commits() - before; n < 3 || n > 8 {
		t.Errorf("%d commits", n)
	}
	if n := stored(t, s); n != 3*(1+2*(maxShared/2+1)) {
		t.Errorf("%d stored", n)
	}
}

// TestFirstFails: what the first of a group wrote is rolled back without a
// savepoint, and those behind it are none the worse for it.
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
