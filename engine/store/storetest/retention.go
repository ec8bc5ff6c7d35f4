package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/store"
)

func (v *checkedTx) RemoveChanges(ctx context.Context, before time.Time, limit int) (int, error) {
	v.use.t.Helper()
	if err := v.use.begin("RemoveChanges"); err != nil {
		return 0, err
	}
	n, err := v.tx.RemoveChanges(ctx, before, limit)
	if n > limit {
		v.use.t.Errorf("RemoveChanges: %d of at most %d", n, limit)
	}
	v.use.done("RemoveChanges", err, nil, store.CodeConflict)
	return n, err
}

// testRetention proves that the oldest changes can be removed, from the history and the
// feed, and that no position skips what has been removed.
func testRetention(t *testing.T, h Harness) {
	t.Run("steps", func(t *testing.T) { testRemoveChanges(open(t, h)) })
	t.Run("faults", func(t *testing.T) { testRemoveChangesFaults(open(t, h)) })
	t.Run("beside writes", func(t *testing.T) { testRemoveChangesBeside(open(t, h)) })
}

// day is a change of an object of its own, with a notice, at a number of days after epoch.
func day(n int) store.Change {
	c := change(net, things, fmt.Sprintf("d%d", n), 1)
	c.Time = epoch.AddDate(0, 0, n)
	c.Owner, c.Notices = "eva", []byte(`[{"code":"c"}]`)
	return c
}

func (f *fixture) removeChanges(before time.Time, limit int) (n int) {
	f.Helper()
	f.must(f.write(func(tx store.Tx) (err error) {
		n, err = tx.RemoveChanges(f.ctx, before, limit)
		return err
	}))
	return n
}

// kept compares everything that is left of changes with those of some days.
func (f *fixture) kept(days ...int) {
	f.Helper()
	var want []store.Change
	for _, n := range days {
		want = append(want, day(n))
	}
	found, _, err := f.s.Changes(f.ctx, "", everything)
	f.must(err)
	same(f, "the feed", names(found), names(want))
	f.read(func(s store.Snapshot) {
		changes, err := history(f.ctx, s, store.HistoryQuery{Network: net, Limit: everything})
		f.must(err)
		same(f, "the history", len(changes), len(want))
		n, err := s.HistoryCount(f.ctx, store.HistoryQuery{Network: net})
		f.must(err)
		same(f, "the count", n, int64(len(want)))
		changes, err = s.ScanHistory(f.ctx, things, "", everything)
		f.must(err)
		same(f, "the scan", names(changes), names(want))
		same(f, "the notices", noticed(f, s), len(want))
	})
}

func testRemoveChanges(f *fixture) {
	same(f, "removed of nothing", f.removeChanges(epoch, 10), 0)
	begin, err := f.s.End(f.ctx)
	f.must(err)
	for n := range 8 {
		f.append(day(n))
	}
	feedOnly := day(8)
	feedOnly.FeedOnly, feedOnly.Owner, feedOnly.Notices = true, "", nil
	f.append(feedOnly)
	all, _, err := f.s.Changes(f.ctx, "", everything)
	f.must(err)
	f.read(func(s store.Snapshot) {
		n, err := s.HistoryCount(f.ctx, store.HistoryQuery{Network: net}) // which may keep it
		f.must(err)
		same(f, "the count", n, int64(8))
	})

	at := func(n int) time.Time { return epoch.AddDate(0, 0, n) }
	same(f, "removed from before the first", f.removeChanges(at(0), 10), 0)
	same(f, "removed at most", f.removeChanges(at(5), 3), 3)
	same(f, "removed at most none", f.removeChanges(at(5), 0), 0)
	same(f, "removed up to a time", f.removeChanges(at(5), 10), 2)
	same(f, "removed again", f.removeChanges(at(5), 10), 0)
	for i, position := range append([]string{begin}, positionsOf(all)...) {
		behind, _, err := f.s.Changes(f.ctx, position, everything)
		if code, _ := store.CodeOf(err); i < 5 && code == store.CodeTooOld {
			continue
		}
		f.must(err)
		same(f, fmt.Sprintf("behind change %d", i), names(behind), names(all[i:]))
	}
	f.read(func(s store.Snapshot) {
		n, err := s.HistoryCount(f.ctx, store.HistoryQuery{Network: net})
		f.must(err)
		same(f, "the count afterwards", n, int64(3))
	})
	oldest, _, err := f.s.Changes(f.ctx, "", 1)
	f.must(err)
	same(f, "the oldest that is kept", names(oldest), names(all[5:6]))

	if f.h.Reopen != nil {
		f.reopen()
	}
	same(f, "removed up to the last", f.removeChanges(at(100), 100), 3)
	same(f, "removed of the last", f.removeChanges(at(100), 100), 0)
	changes, end, err := f.s.Changes(f.ctx, "", everything)
	f.must(err)
	same(f, "the last change stays", names(changes), names(all[8:]))
	f.append(day(9))
	changes, _, err = f.s.Changes(f.ctx, end, everything)
	f.must(err)
	same(f, "the next change", names(changes), names([]store.Change{day(9)}))
}

func positionsOf(changes []store.Change) (positions []string) {
	for _, c := range changes {
		positions = append(positions, c.Position)
	}
	return positions
}

// testRemoveChangesFaults ends removals at each point.
func testRemoveChangesFaults(f *fixture) {
	for n := range 5 {
		f.append(day(n))
	}
	own := errors.New("own")
	for name, end := range map[string]func(cancel func()) error{
		"an error":               func(func()) error { return own },
		"a panic":                func(func()) error { panic("in a transaction") },
		"the end of the context": func(cancel func()) error { cancel(); return own },
	} {
		ctx, cancel := context.WithCancel(f.ctx)
		err := f.s.Write(ctx, func(tx store.Tx) error {
			n, err := tx.RemoveChanges(ctx, epoch.AddDate(1, 0, 0), 3)
			if err != nil || n != 3 {
				return fmt.Errorf("%d, %w", n, err)
			}
			return end(cancel)
		})
		cancel()
		if err == nil {
			f.Errorf("%s: the transaction was committed", name)
		}
		f.kept(0, 1, 2, 3, 4)
	}
	same(f, "removed", f.removeChanges(epoch.AddDate(1, 0, 0), 3), 3)
	f.kept(3, 4)
}

// testRemoveChangesBeside removes changes twice at once while others are appended: each is
// removed once, none of the others is, and counts stay exact.
func testRemoveChangesBeside(f *fixture) {
	const writers, each, young = 3, 30, 1000
	for n := range each {
		f.append(day(n))
	}
	var removed atomic.Int64
	together(writers+2, func(i int) {
		for n := range each {
			if i < writers {
				f.append(day(young + i*each + n))
				continue
			}
			n := 0
			err := f.write(func(tx store.Tx) (err error) {
				n, err = tx.RemoveChanges(f.ctx, epoch.AddDate(0, 0, young), 2)
				return err
			})
			if err != nil {
				f.Errorf("a removal: %v", err)
			}
			removed.Add(int64(n))
		}
	})
	same(f, "removed", removed.Load(), int64(each))
	changes, _, err := f.s.Changes(f.ctx, "", everything)
	f.must(err)
	same(f, "kept", len(changes), writers*each)
	f.read(func(s store.Snapshot) {
		n, err := s.HistoryCount(f.ctx, store.HistoryQuery{Network: net})
		f.must(err)
		same(f, "the count", n, int64(len(changes)))
	})
}
