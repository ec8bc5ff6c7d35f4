// Package walk visits the records of a collection in short transactions, beside
// ordinary writes. It imports store only. Begin with Collection.
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

// Collection calls step for all records that a collection held at the beginning, some
// at a time, in the order of their keys. Each step is a transaction that reads the
// records and may write. A step that conflicts with other writes runs again with half
// as many records; any other error ends the walk. It reports the records to the
// store.Progress of the context.
func Collection(ctx context.Context, s store.Store, collection string, step func(tx store.Tx, records []*store.Record) error) error {
	return Steps(ctx, s, collection, step, func() {})
}

// Steps is Collection with a function that is called after the last run of each step.
func Steps(ctx context.Context, s store.Store, collection string, step func(tx store.Tx, records []*store.Record) error, done func()) error {
	p := &stepping{collection: collection, pace: Pace{Target: StepTime, Size: FirstStep, Max: maxStep}, step: step}
	for {
		p.runs = 0
		err := RetryConflicts(ctx, s, func(tx store.Tx) error { return p.run(ctx, tx) })
		if err != nil || p.met == 0 {
			return err
		}
		p.end()
		done()
		store.Advance(ctx, p.met)
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

// stepping is the state of a walk.
type stepping struct {
	collection string
	step       func(tx store.Tx, records []*store.Record) error
	// after is the last record of the previous step.
	after store.Key
	pace  Pace
	// runs counts the runs of the transaction. Of the latest run, met is the number of
	// records, last the key of the last one, and took the duration.
	runs, met int
	last      store.Key
	took      time.Duration
}

// end prepares the next step.
func (s *stepping) end() {
	s.after = s.last
	s.pace.Took(s.took, s.runs)
}

func (s *stepping) run(ctx context.Context, tx store.Tx) error {
	began := time.Now()
	if s.runs++; s.runs > 1 {
		s.pace.Again()
	}
	var records []*store.Record
	err := tx.Scan(ctx, s.collection, s.after, s.pace.Size, func(r *store.Record) error {
		records = append(records, r.Clone())
		return nil
	})
	if s.met = len(records); err != nil || s.met == 0 {
		return err
	}
	s.last = records[s.met-1].Key
	err = s.step(tx, records)
	s.took = time.Since(began)
	return err
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
