package migration

import (
	"context"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/store"
	"marquee/engine/walk"
)

const (
	// retentionTime bounds a call of RemoveHistory, as reloads of schemas wait meanwhile, and
	// maxRemoved the changes that one transaction removes.
	retentionTime = 3 * time.Second
	maxRemoved    = 1000
)

// RemoveHistory removes the changes from before a time from the history and the feed, in
// small transactions beside ordinary writes. Of many, it leaves some to the next call. It can
// be interrupted at any point. What is not the history stays: objects, and the tombstones of
// removed ones.
func (m *Migrator) RemoveHistory(ctx context.Context, before time.Time) error {
	oldest, _, err := m.Store.Changes(ctx, "", 1)
	if err != nil || len(oldest) == 0 || !oldest[0].Time.Before(before) {
		return store.Translate(err)
	}
	return store.Translate(m.alone(ctx, func(ctx context.Context, _ *lease) error { return m.removeHistory(ctx, before) }))
}

// removeHistory does the work of RemoveHistory under the lease: a migration or an erasure
// rewrites changes that it has read before.
func (m *Migrator) removeHistory(ctx context.Context, before time.Time) error {
	if err := m.Store.Settle(ctx, time.Now()); err != nil {
		return err
	}
	pace := walk.Pace{Target: walk.StepTime, Size: walk.FirstStep, Max: maxRemoved}
	for end := time.Now().Add(retentionTime); time.Now().Before(end); {
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
			return err
		}
		took := time.Since(began)
		pace.Took(took, runs)
		store.Advance(ctx, removed)
		if !walk.Sleep(ctx, took) {
			return ctx.Err()
		}
	}
	return nil
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
