package engine

import (
	"context"
	"encoding/json"
	"time"

	"marquee/engine/store"
)

// Of several servers on one store, one at a time makes objects findable: what
// it fills in, another must not drop. It holds a lease, a record that it writes
// again and again. Clocks of other machines count for nothing: the lease is
// free when who waits for it has seen no new version of it for a while.
const (
	leaseTime = 15 * time.Second
	leaseBeat = 3 * time.Second
	leasePoll = 100 * time.Millisecond
	// leaseEnd is how long the release is tried for; the lease ends anyway.
	leaseEnd = 5 * time.Second
)

// leaseKey is where the lease is in typeCollection. No type has such a name.
var leaseKey = store.Key{ID: ".lease"}

var errLeaseLost = &store.Error{Code: store.CodeUnavailable, Text: "another server makes objects findable by its schemas, as this one did not answer for a while: load the schemas again"}

// lease is held for one call of alone. Nil is the one of a store that belongs
// to this process, where Engine.swap is enough.
type lease struct {
	e     *Engine
	owner string
}

// leaseNote is the record's document.
type leaseNote struct {
	// Owner is "" when nobody holds the lease.
	Owner string `json:"owner"`
}

// alone runs fn while no other server runs its own. The context of fn ends
// when the lease is lost.
func (e *Engine) alone(ctx context.Context, fn func(context.Context, *lease) error) error {
	if _, own := e.Store.Revision(typeCollection); own {
		return fn(ctx, nil)
	}
	l := &lease{e: e, owner: NewID()}
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
	_ = e.Store.Write(last, func(tx store.Tx) error { return l.write(last, tx, "") })
	return err
}

// acquire waits until the lease is free, and takes it.
func (l *lease) acquire(ctx context.Context) error {
	var seen int64
	var since, looked time.Time
	for {
		var dead, version int64
		if !since.IsZero() && time.Since(since) > leaseTime {
			dead = seen
		}
		err := l.e.Store.Write(ctx, func(tx store.Tx) (err error) {
			version, err = l.take(ctx, tx, dead)
			return err
		})
		if err != nil || version == 0 {
			return err
		}
		// While the store did not answer, the holder could not write either.
		if version != seen || time.Since(looked) > leaseBeat {
			seen, since = version, time.Now()
		}
		looked = time.Now()
		select {
		case <-ctx.Done():
			return &store.Error{Code: store.CodeDeadline, Text: "another server makes objects findable by its schemas", Cause: ctx.Err()}
		case <-time.After(leasePoll):
		}
	}
}

// take makes the lease its own, unless another holds it, in a version that is
// not known to be dead: that version is returned.
func (l *lease) take(ctx context.Context, tx store.Tx, dead int64) (held int64, err error) {
	note, record, err := l.read(ctx, tx)
	if err != nil {
		return 0, err
	}
	if note.Owner != "" && note.Owner != l.owner && record.Version != dead {
		return record.Version, nil
	}
	return 0, l.put(ctx, tx, record, l.owner)
}

// beat shows that the lease is still held. In a transaction that writes more,
// it makes sure that all of that is done while the lease is held, or not at all.
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
	return l.e.Store.Write(ctx, func(tx store.Tx) error { return l.beat(ctx, tx) })
}

// keep beats until the context ends. A store that cannot be reached is none of
// its business: whoever writes meets that by himself.
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

// write passes the lease on to an owner, if it is still one's own.
func (l *lease) write(ctx context.Context, tx store.Tx, owner string) error {
	note, record, err := l.read(ctx, tx)
	if err != nil {
		return err
	}
	if note.Owner != l.owner {
		return errLeaseLost
	}
	return l.put(ctx, tx, record, owner)
}

func (l *lease) read(ctx context.Context, tx store.Tx) (note leaseNote, record store.Record, err error) {
	record.Key = leaseKey
	err = tx.Get(ctx, typeCollection, []store.Key{leaseKey}, func(r *store.Record) error {
		record = *keep(r)
		return json.Unmarshal(r.Document, &note)
	})
	return note, record, err
}

func (l *lease) put(ctx context.Context, tx store.Tx, record store.Record, owner string) error {
	write, err := l.e.typeWrite(record, leaseNote{Owner: owner})
	if err != nil {
		return err
	}
	return tx.Put(ctx, typeCollection, []store.Write{write})
}
