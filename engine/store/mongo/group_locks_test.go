package mongo

import (
	"context"
	"errors"
	"testing"
	"time"

	"marquee/engine/store"
)

// locking returns a call that locks a record, and creates it if it is missing, before it
// creates its own.
func (g *grouped) locking(i int, shared store.Key, first func() error) func() error {
	return g.call(numbered(i), func(ctx context.Context, tx store.Tx) error {
		there, err := store.Existing(ctx, tx, faultThings, []store.Key{shared})
		if err != nil {
			return err
		}
		if err := first(); err != nil {
			return err
		}
		if _, exists := there[shared]; !exists {
			err = tx.Put(ctx, faultThings, []store.Write{{Record: faultRecord(shared, 1)}})
		} else {
			err = tx.Lock(ctx, faultThings, []store.Key{shared})
		}
		return cmpError(err, tx.Put(ctx, faultThings, []store.Write{{Record: faultRecord(numbered(i), 1)}}))
	})
}

func undisturbed() error { return nil }

// disturbed returns a function that writes the record "hot" in its first n calls.
func (g *grouped) disturbed(n int) func() error {
	return func() error {
		if n--; n < 0 {
			return nil
		}
		return g.s.Write(g.Context(), func(tx store.Tx) error { return countUp(g.Context(), tx, hotKey) })
	}
}

// TestGroupCreatesALock: when one of several calls creates what they have in common, the others
// share the next transaction.
func TestGroupCreatesALock(t *testing.T) {
	g := newGrouped(t)
	var calls []func() error
	for i := range 12 {
		calls = append(calls, g.locking(i, numbered(99), undisturbed))
	}
	sent, errs := g.during(calls...)
	if err := errors.Join(errs...); err != nil || sent["commitTransaction"] != 2 {
		t.Errorf("calls of which one creates a record that the others lock take %v: %v", sent, err)
	}
}

// TestGroupKeepsLocks: calls that lock the same record stay together whatever conflicts with
// them, and the others leave them.
func TestGroupKeepsLocks(t *testing.T) {
	g := newGrouped(t)
	const writes = groupAttempts + 2
	sent, errs := g.during(g.locking(0, hotKey, g.disturbed(writes)), g.locking(1, hotKey, undisturbed), g.locking(2, hotKey, undisturbed), g.counting(numbered(3)))
	if err := errors.Join(errs...); err != nil || sent["commitTransaction"] != writes+2 {
		t.Errorf("beside %d writes, three calls that lock and one that does not take %v: %v", writes, sent, err)
	}
	g.stored(hotKey, 1+writes)
}

// TestCallsMeetConflicts: a call that has a deadline does not give up while others write a record
// that it locks or writes.
func TestCallsMeetConflicts(t *testing.T) {
	for name, how := range map[string]func(context.Context, store.Tx) error{
		"locks":  func(ctx context.Context, tx store.Tx) error { return tx.Lock(ctx, faultThings, []store.Key{hotKey}) },
		"writes": func(ctx context.Context, tx store.Tx) error { return countUp(ctx, tx, hotKey) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrouped(t)
			const others = maxConflicts + 1
			disturb := g.disturbed(others)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			err := g.callIn(ctx, numbered(0), func(ctx context.Context, tx store.Tx) error {
				if _, err := store.Existing(ctx, tx, faultThings, []store.Key{hotKey}); err != nil { // which takes the snapshot
					return err
				}
				if err := disturb(); err != nil {
					return err
				}
				return cmpError(how(ctx, tx), tx.Put(ctx, faultThings, []store.Write{{Record: faultRecord(numbered(0), 1)}}))
			})()
			if err != nil {
				t.Error(err)
			}
			stored := int64(1 + others)
			if name == "writes" {
				stored++
			}
			g.stored(hotKey, stored)
		})
	}
}
