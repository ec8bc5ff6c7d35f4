package migration

import (
	"context"
	"log/slog"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/store"
	"marquee/engine/walk"
)

const (
	// retentionTime is the time for which changes are removed before reloads of schemas may go first, and
	// maxRemoved the changes that one transaction removes.
	retentionTime = time.Second
	maxRemoved    = 1000
	// leastRemoved is how many a transaction removes however long it takes: a removal takes so
	// little that the time is that of a busy machine.
	leastRemoved = 250
	// removedAtOnce is the time whose changes a call of RemoveHistory removes at most.
	removedAtOnce = 24 * time.Hour
	// quickRest is the part of the time of a transaction for which the removal rests where
	// other writes do not wait for the transaction.
	quickRest = 4
)

// RemoveHistory removes the changes from before a time from the history and the feed, in
// small transactions beside ordinary writes: those of removedAtOnce at most, so that a clock that
// is wrong does not remove everything at once, with a warning in the log. It can be interrupted at
// any point. What is not the history stays: objects, and the tombstones of removed ones.
func (m *Migrator) RemoveHistory(ctx context.Context, before time.Time, log *slog.Logger) error {
	for until := (time.Time{}); ; {
		oldest, _, err := m.Store.Changes(ctx, "", 1)
		if err != nil || len(oldest) == 0 {
			return store.Translate(err)
		}
		from := oldest[0].Time
		if until.IsZero() {
			until = m.removeUntil(from, before, log)
		}
		if !from.Before(until) {
			return nil
		}
		end := false
		err = m.turn(ctx, func(ctx context.Context, _ *lease) (err error) {
			end, err = m.removeHistory(ctx, until)
			return err
		})
		if err != nil || end {
			return store.Translate(err)
		}
	}
}

// RemovedHistory returns the number of changes that RemoveHistory has removed here.
func (m *Migrator) RemovedHistory() int64 { return m.removed.Load() }

// removeUntil returns the time before which changes are removed now.
func (m *Migrator) removeUntil(oldest, before time.Time, log *slog.Logger) time.Time {
	until := oldest.Add(removedAtOnce)
	if !until.Before(before) {
		m.behind.Store(false)
		return before
	}
	if !m.behind.Swap(true) {
		log.Warn("much of the history is older than it is to be kept: a day of it is removed in each interval; stop the service if its clock is wrong",
			slog.Time("from", oldest), slog.Time("before", before))
	}
	return until
}

// removeHistory does the work of RemoveHistory for some time, and reports whether it has come to
// the end. It holds the lease, as a migration or an erasure rewrites changes that it has read before.
func (m *Migrator) removeHistory(ctx context.Context, before time.Time) (end bool, err error) {
	if err := m.Store.Settle(ctx, time.Now()); err != nil {
		return false, err
	}
	pace := walk.Pace{Target: walk.StepTime, Size: leastRemoved, Max: maxRemoved, Least: leastRemoved}
	for until := time.Now().Add(retentionTime); time.Now().Before(until); {
		removed, runs, began := 0, 0, time.Now()
		err := walk.RetryConflicts(ctx, m.Store, func(tx store.Tx) (err error) {
			if runs++; runs > 1 {
				pace.Again()
			}
			began = time.Now()
			removed, err = m.removeSome(ctx, tx, before, pace.Size)
			return err
		})
		if err != nil || removed == 0 {
			return err == nil, err
		}
		took := time.Since(began)
		pace.Took(took, runs)
		m.removed.Add(int64(removed))
		store.Advance(ctx, removed)
		if !m.Store.Serial() {
			took /= quickRest
		}
		if !walk.Sleep(ctx, took) {
			return false, ctx.Err()
		}
	}
	return false, nil
}

// removeSome removes changes, and notes how far.
func (m *Migrator) removeSome(ctx context.Context, tx store.Tx, before time.Time, limit int) (int, error) {
	n, err := tx.RemoveChanges(ctx, before, limit)
	if err != nil || n == 0 {
		return n, err
	}
	noted, record, err := catalog.ReadRemoval(ctx, tx)
	if err != nil || !noted.Before.Before(before) {
		return n, err
	}
	return n, store.PutInternal(ctx, tx, catalog.Retention.Name, record, "ACTIVE", catalog.Removal{Before: before.UTC()}, m.Now())
}
