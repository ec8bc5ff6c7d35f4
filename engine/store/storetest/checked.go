package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"marquee/engine/store"
)

// Checked returns a store that checks the contract: the test fails when the
// store or its user breaks it. It changes nothing that passes through, so any
// test of the engine can run on it.
func Checked(s store.Store, t testing.TB) store.Store { return &checked{Store: s, t: t} }

type checked struct {
	store.Store
	t testing.TB
}

// always lists the codes that every method may return.
var always = []store.Code{store.CodeUnavailable, store.CodeFull, store.CodeDamaged, store.CodeBusy, store.CodeDeadline, store.CodeInternal}

// fault checks that an error is an *store.Error with a documented code.
func fault(t testing.TB, method string, err error, documented ...store.Code) {
	t.Helper()
	if err == nil {
		return
	}
	code, ok := store.CodeOf(err)
	switch {
	case !ok:
		t.Errorf("%s: the error is not a *store.Error: %T %v", method, err, err)
	case !slices.Contains(always, code) && !slices.Contains(documented, code):
		t.Errorf("%s: code %d is not documented: %v", method, code, err)
	case err.Error() == "":
		t.Errorf("%s: an error without text", method)
	}
}

func (c *checked) EnsureCollections(ctx context.Context, collections []store.Collection) error {
	err := c.Store.EnsureCollections(ctx, collections)
	fault(c.t, "EnsureCollections", err)
	return err
}

func (c *checked) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	var own error
	ran := 0
	err := c.Store.Read(ctx, func(s store.Snapshot) error {
		ran++
		v := &checkedSnapshot{Snapshot: s, use: &use{t: c.t}}
		defer v.use.end()
		own = fn(v)
		return own
	})
	switch {
	case own != nil && err == nil:
		c.t.Errorf("Read: lost the function's error %v", own)
	case own != nil && err != own:
		c.t.Errorf("Read: returned %v instead of the function's own error %v", err, own)
	case own == nil:
		fault(c.t, "Read", err)
	}
	if err == nil && ran == 0 {
		c.t.Error("Read: did not run the function")
	}
	return err
}

func (c *checked) Write(ctx context.Context, fn func(store.Tx) error) error {
	var own, ended error
	ran, returned := 0, false
	err := c.Store.Write(ctx, func(tx store.Tx) error {
		ran++
		returned = false
		v := &checkedTx{checkedSnapshot: checkedSnapshot{Snapshot: tx, use: &use{t: c.t}}, tx: tx}
		defer v.use.end()
		own = nil
		own = fn(v)
		ended, returned = v.use.failed, true
		return own
	})
	switch {
	case own != nil && err == nil:
		c.t.Errorf("Write: lost the function's error %v", own)
	case own != nil && err != own && !c.retriesEnded(own, err):
		c.t.Errorf("Write: returned %v instead of the function's own error %v", err, own)
	case own == nil && (ended == nil || err != ended):
		fault(c.t, "Write", err, store.CodeConflict, store.CodeTooLarge, store.CodeUncertain)
	}
	switch {
	case err == nil && (ran == 0 || !returned):
		c.t.Errorf("Write: no error, and the function ran %d times (to its end: %t)", ran, returned)
	case err == nil && ended != nil:
		c.t.Errorf("Write: committed although a method had failed: %v", ended)
	}
	return err
}

// retriesEnded reports whether an error replaces a conflict of the function's
// last run: the store may use its own text.
func (c *checked) retriesEnded(own, err error) bool {
	was, ok := store.CodeOf(own)
	now, known := store.CodeOf(err)
	return ok && known && was == store.CodeConflict && now == store.CodeConflict
}

func (c *checked) Changes(ctx context.Context, after string, limit int, collections ...string) ([]store.Change, string, error) {
	changes, position, err := c.Store.Changes(ctx, after, limit, collections...)
	fault(c.t, "Changes", err, store.CodeBadPosition, store.CodeTooOld)
	if len(changes) > limit {
		c.t.Errorf("Changes: %d of at most %d", len(changes), limit)
	}
	if err == nil && len(changes) > 0 && (position == "" || position == after) {
		c.t.Errorf("Changes: position %q after %d changes behind %q", position, len(changes), after)
	}
	if len(position) > store.MaxPositionBytes {
		c.t.Errorf("Changes: a position of %d bytes", len(position))
	}
	for i := range changes {
		checkChange(c.t, "Changes", &changes[i])
	}
	return changes, position, err
}

func (c *checked) End(ctx context.Context) (string, error) {
	position, err := c.Store.End(ctx)
	fault(c.t, "End", err)
	return position, err
}

func (c *checked) Check(ctx context.Context) error {
	err := c.Store.Check(ctx)
	fault(c.t, "Check", err)
	return err
}

func (c *checked) Close() error {
	err := c.Store.Close()
	fault(c.t, "Close", err)
	return err
}

// use checks how a snapshot is used: by one goroutine at a time, not from a
// yield function, and not after its function has returned.
type use struct {
	t      testing.TB
	inside atomic.Bool
	over   atomic.Bool
	// failed is the error that ended the transaction.
	failed error
}

var errMisused = errors.New("storetest: the snapshot is misused")

func (u *use) begin(method string) error {
	u.t.Helper()
	if u.over.Load() {
		u.t.Errorf("%s: used after its function returned", method)
		return errMisused
	}
	if !u.inside.CompareAndSwap(false, true) {
		u.t.Errorf("%s: used while another call is under way", method)
		return errMisused
	}
	return nil
}

// done ends a call. An error of a yield function is not the store's, and does
// not end a transaction.
func (u *use) done(method string, err, yielded error, documented ...store.Code) {
	u.t.Helper()
	switch {
	case yielded != nil && err != yielded:
		u.t.Errorf("%s: returned %v instead of the error of yield, %v", method, err, yielded)
	case yielded == nil && u.failed != nil && err == nil:
		u.t.Errorf("%s: no error in a transaction that had ended: %v", method, u.failed)
	case yielded == nil && err != nil && err != u.failed:
		fault(u.t, method, err, append(documented, codes(u.failed)...)...)
		if u.failed == nil {
			u.failed = err
		}
	}
	u.inside.Store(false)
}

// call makes a call that yields nothing.
func (u *use) call(method string, call func() error, documented ...store.Code) error {
	u.t.Helper()
	if err := u.begin(method); err != nil {
		return err
	}
	err := call()
	u.done(method, err, nil, documented...)
	return err
}

func (u *use) end() { u.over.Store(true) }

// codes returns the code of the error that ended a transaction, which later
// calls may return again.
func codes(err error) []store.Code {
	if code, ok := store.CodeOf(err); ok {
		return []store.Code{code}
	}
	return nil
}

func checkChange(t testing.TB, method string, c *store.Change) {
	t.Helper()
	if c.Position == "" || len(c.Position) > store.MaxPositionBytes || c.Collection == "" || c.ID == "" || c.Version < 1 || c.Revision < 1 || c.Time.IsZero() {
		t.Errorf("%s: an incomplete change: %s", method, fmt.Sprintf("%+v", *c))
	}
}
