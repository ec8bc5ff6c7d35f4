package write

import (
	"context"
	"errors"
	"slices"
	"time"

	"marquee/engine/budget"
	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/write/numbers"
)

// shortage ends a run of a transaction that needs more memory than the call has
// reserved. The memory is reserved before the next run: waiting within a transaction
// would block others, among them those that hold the memory.
type shortage struct{ bytes int64 }

// Error implements error.
func (s *shortage) Error() string { return "engine: the transaction needs more memory" }

// withMemory runs a transaction and repeats it with the memory that it lacked. While
// it waits for that, it keeps neither what the run has loaded nor its memory. It also
// returns the errors of budget.Reserve and numbers.Reserve.Run.
func (w *Writing) withMemory(ctx context.Context, run func() error) error {
	w.reserved = budget.Held(ctx)
	for {
		err := w.e.numbers.Run(ctx, run)
		var short *shortage
		if !errors.As(err, &short) {
			return err
		}
		w.transaction = transaction{}
		if err := budget.Reserve(ctx, short.bytes); err != nil {
			return err
		}
	}
}

// transact runs a transaction of the store, which is rolled back if nothing is to be
// stored, and then the functions of AfterCommit.
func (w *Writing) transact(ctx context.Context, run func() error) error {
	err := w.e.Store.Write(ctx, func(tx store.Tx) error {
		w.begin(tx)
		if err := run(); err != nil {
			return err
		}
		if w.batch.ValidateOnly {
			return store.ErrRollback
		}
		return nil
	})
	switch {
	case err == nil:
		w.end()
	case w.batch.ValidateOnly && errors.Is(err, store.ErrRollback):
		return nil
	}
	return err
}

// begin starts a run of the transaction.
func (w *Writing) begin(tx store.Tx) {
	now := w.e.Now()
	if !w.batch.Time.IsZero() {
		now = w.batch.Time
	}
	now = now.UTC().Truncate(time.Millisecond)
	w.transaction = transaction{
		tx:               tx,
		auth:             authorization{e: w.e, ctx: w.ctx, s: tx, caller: w.caller},
		now:              now,
		faults:           w.preparedFaults.Clone(),
		rounds:           rounds{byKey: make(map[objectKey]*Change, len(w.prepared)), queuedByKey: map[objectKey]*Change{}},
		beforeCommitKeys: map[string]bool{},
		left:             following{MaxFollowing, MaxFollowingBytes},
		leftOwned:        MaxFollowing,
		followUps:        followUps{now: now, user: w.caller.User, serial: w.e.Store.Serial(), entries: map[store.Key]*followUp{}},
		indexings:        indexings{},
		locked:           map[objectKey]bool{},
	}
	if w.runs++; w.runs > keepLane {
		w.lane = w.e.Lane()
	}
	w.numbering.lacks, w.numbering.clashed = numbers.Lacking{}, false
	if w.quiet {
		w.left, w.leftOwned = following{}, 0
	}
}

// conclude ends a run of the transaction when everything is written. It runs the
// checks of BeforeCommit and returns the error of all faults.
func (w *Writing) conclude() error {
	w.result.Following, w.result.targets = w.followUps.types, w.targets
	if err := w.refused(); err != nil {
		return err
	}
	for _, check := range w.beforeCommit {
		if err := check(); err != nil {
			return err
		}
	}
	return w.refused()
}

// end runs the functions of AfterCommit.
func (w *Writing) end() {
	for _, do := range w.afterCommit {
		do()
	}
}

// run writes the prepared changes, and then those that hooks have added.
func (w *Writing) run() error {
	if w.round = w.prepared; len(w.round) > 0 {
		if err := w.runRound(); errors.Is(err, errRoundTooLarge) {
			return message.BatchTooLarge.Error(nil)
		} else if err != nil {
			return err
		}
	}
	for atOnce := roundSize; len(w.queued) > 0; {
		w.next(atOnce)
		if err := w.runRound(); errors.Is(err, errRoundTooLarge) && len(w.round) > 1 {
			atOnce = len(w.round) / 2
			w.requeue(w.round)
			continue
		} else if err != nil {
			return err
		}
		w.release(w.sent)
	}
	return nil
}

func (w *Writing) runRound() error {
	if err := w.indexings.read(w); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	if err := w.noteAhead(); err != nil {
		return err
	}
	sent := slices.DeleteFunc(slices.Clone(w.round), (*Change).Internal)
	if err := w.auth.check(sent, (*Change).storedVersion); err != nil {
		return err
	}
	// A hook may look at the other changes of the round, so all are merged first.
	for _, c := range w.round {
		if err := w.merge(c); err != nil {
			return err
		}
	}
	if err := w.hooks(w.round, func(h Hooks) hook { return h.BeforeValidate }); err != nil {
		return err
	}
	if err := w.hooks(w.round, func(h Hooks) hook { return h.Validate }); err != nil {
		return err
	}
	if err := w.validateAll(); err != nil {
		return err
	}
	for _, c := range w.round {
		w.faults.Add(c.faults...)
	}
	if err := w.checkReferences(); err != nil {
		return err
	}
	unique := newUniqueness(w)
	if err := unique.checkUnique(); err != nil {
		return err
	}
	if err := unique.checkForms(); err != nil {
		return err
	}
	if err := w.refused(); err != nil {
		return err
	}
	if err := w.numbering.check(w.round); err != nil {
		w.unload(w.round)
		return err
	}
	if err := w.computeOwners(); err != nil {
		return err
	}
	if err := w.auth.checkResults(w.round); err != nil {
		return err
	}
	return w.store()
}

// refused returns the error of the faults, nil when there are none.
func (w *Writing) refused() error {
	w.refusal = w.faults.Err()
	return w.refusal
}
