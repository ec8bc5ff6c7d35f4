package migration

import (
	"context"
	"time"

	"marquee/engine/catalog"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// The servers of one store take turns in changing indexings: what one fills in,
// another must not drop. The server whose turn it is holds a lease, a record that it
// writes again and again. The lease is free when a waiting server has seen no new
// revision of it for leaseTime by its own clock.
const (
	leaseTime = 15 * time.Second
	leaseBeat = 3 * time.Second
	leasePoll = 100 * time.Millisecond
	// leaseEnd bounds the attempt to release the lease, which otherwise expires.
	leaseEnd = 5 * time.Second
)

var errLeaseLost = &store.Error{Code: store.CodeUnavailable, Text: "another server took over the schema change because this one did not renew its lease in time: load the schemas again"}

// lease is held for one call of withLease. It is nil for a store that belongs to this
// process, where Migrator.migrating suffices.
type lease struct {
	m     *Migrator
	owner string
}

// leaseNote is the document of the lease's record.
type leaseNote struct {
	// Owner is "" when nobody holds the lease.
	Owner string `json:"owner"`
}

// withLease calls fn while no other server holds the lease. The context of fn ends
// when the lease is lost.
func (m *Migrator) withLease(ctx context.Context, fn func(context.Context, *lease) error) error {
	if m.Store.Serial() {
		return fn(ctx, nil)
	}
	l := &lease{m: m, owner: store.NewID()}
	if err := l.acquire(ctx); err != nil {
		return err
	}
	held, lose := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.keep(held, lose)
	}()
	err := fn(held, l)
	if err != nil && context.Cause(held) == error(errLeaseLost) {
		err = errLeaseLost
	}
	lose(nil)
	<-ended
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseEnd)
	defer cancel()
	// One that is not released ends by itself.
	_ = m.Store.Write(last, func(tx store.Tx) error { return l.write(last, tx, "") })
	return err
}

// acquire waits until the lease is free and takes it.
func (l *lease) acquire(ctx context.Context) error {
	var seen int64
	var since, looked time.Time
	for {
		var dead, revision int64
		if !since.IsZero() && time.Since(since) > leaseTime {
			dead = seen
		}
		err := l.m.Store.Write(ctx, func(tx store.Tx) (err error) {
			revision, err = l.take(ctx, tx, dead)
			return err
		})
		if err != nil || revision == 0 {
			return err
		}
		if since.IsZero() {
			store.Step(ctx, "waiting for another server, which is changing its schemas or starting")
		}
		// While the store did not answer, the holder could not write either.
		if revision != seen || time.Since(looked) > leaseBeat {
			seen, since = revision, time.Now()
		}
		looked = time.Now()
		if !walk.Sleep(ctx, leasePoll) {
			return &store.Error{Code: store.CodeDeadline, Text: "another server is still indexing objects for its schemas", Cause: ctx.Err()}
		}
	}
}

// take takes the lease, unless another server holds it in a revision other than dead:
// then it returns that revision.
func (l *lease) take(ctx context.Context, tx store.Tx, dead int64) (held int64, err error) {
	var note leaseNote
	record, err := store.ReadOne(ctx, tx, catalog.TypeCollection, catalog.LeaseKey, &note)
	if err != nil {
		return 0, err
	}
	if note.Owner != "" && note.Owner != l.owner && record.Revision != dead {
		return record.Revision, nil
	}
	return 0, l.put(ctx, tx, record, l.owner)
}

// beat renews the lease. As part of a transaction, it makes the commit depend on the
// lease.
func (l *lease) beat(ctx context.Context, tx store.Tx) error {
	if l == nil {
		return nil
	}
	return l.write(ctx, tx, l.owner)
}

// check fails when the lease is lost.
func (l *lease) check(ctx context.Context) error {
	if l == nil {
		return nil
	}
	return l.m.Store.Write(ctx, func(tx store.Tx) error { return l.beat(ctx, tx) })
}

// keep renews the lease until the context ends. It ignores errors of the store, which
// the holder meets in its own transactions.
func (l *lease) keep(ctx context.Context, lose context.CancelCauseFunc) {
	beat := time.NewTicker(leaseBeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		if l.check(ctx) == error(errLeaseLost) {
			lose(errLeaseLost)
			return
		}
	}
}

// write sets the owner of the lease, provided that it is still held.
func (l *lease) write(ctx context.Context, tx store.Tx, owner string) error {
	var note leaseNote
	record, err := store.ReadOne(ctx, tx, catalog.TypeCollection, catalog.LeaseKey, &note)
	if err != nil {
		return err
	}
	if note.Owner != l.owner {
		return errLeaseLost
	}
	return l.put(ctx, tx, record, owner)
}

func (l *lease) put(ctx context.Context, tx store.Tx, record store.Record, owner string) error {
	return store.PutInternal(ctx, tx, catalog.TypeCollection, record, "ACTIVE", leaseNote{Owner: owner}, l.m.Now())
}
