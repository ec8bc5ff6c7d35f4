// Package walk visits the records of a collection in short transactions, beside
// ordinary writes. It imports store only. Begin with Changes.
package walk

import (
	"context"
	"time"

	"marquee/engine/store"
)

// Each step of a walk takes about StepTime, the time that another write may have
// to wait for it.
const (
	StepTime  = 10 * time.Millisecond
	FirstStep = 50
	maxStep   = 500
)

// Steps calls step for all records that a collection held at the beginning, some at a
// time, in the order of their keys. Each step is a transaction that reads the records
// and may write. A step that conflicts with other writes runs again with half as many
// records; any other error ends the walk. Done is called after the last run of each
// step. It reports the records to the store.Progress of the context.
func Steps(ctx context.Context, s store.Store, collection string, step func(tx store.Tx, records []*store.Record) error, done func()) error {
	pace := Pace{Target: StepTime, Size: FirstStep, Max: maxStep}
	for after := (store.Key{}); ; {
		var took time.Duration // of the last run, of which there are runs
		runs, met, last := 0, 0, after
		err := RetryConflicts(ctx, s, func(tx store.Tx) error {
			began := time.Now()
			if runs++; runs > 1 {
				pace.Again()
			}
			var records []*store.Record
			err := tx.Scan(ctx, collection, after, pace.Size, func(r *store.Record) error {
				records = append(records, r.Clone())
				last = r.Key
				return nil
			})
			if met = len(records); err == nil && met > 0 {
				err = step(tx, records)
			}
			took = time.Since(began)
			return err
		})
		if err != nil || met == 0 {
			return err
		}
		after = last
		pace.Took(took, runs)
		done()
		store.Advance(ctx, met)
	}
}

// RetryConflicts runs an idempotent transaction until it meets no conflict.
func RetryConflicts(ctx context.Context, s store.Store, fn func(store.Tx) error) error {
	for {
		err := s.Write(ctx, fn)
		code, _ := store.CodeOf(err)
		if code != store.CodeConflict && code != store.CodeUncertain || !Sleep(ctx, StepTime) {
			return err
		}
	}
}

// Sleep waits and reports whether it ended before the context did.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Every calls a function at each interval until the context ends.
func Every(ctx context.Context, interval time.Duration, do func()) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			do()
		}
	}
}
