// Package write stores what clients send, all of it or nothing, in one transaction of
// the store: merge, rules, no-op detection (unchanged.go), references and their visibility,
// unique values, index terms, history. It knows neither the read path
// nor the migration of schemas. Begin with Writer.Write and Writing.runRound.
package write

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/write/numbers"
	"marquee/engine/written"
)

// Numbers is the collection of the numbers of sequences.
var Numbers = numbers.Collection

// Writer stores batches and streams of objects.
type Writer struct {
	*catalog.Catalog
	access access.Access
	hooks  map[string]Hooks
	sizes  sizes
	// numbers are those that the server has reserved.
	numbers *numbers.Reserve
	// idempotencySecret is what OpenIdempotency has read.
	idempotencySecret []byte
	keysKept          keyCounts
	// streams holds a place for the one Stream that is written at a time.
	streams chan struct{}
	// followed has an item when the queue may be longer than when it was last read;
	// following is its length then.
	followed  chan struct{}
	following atomic.Pointer[Following]
}

// New returns a writer. The hooks are by the name of the type.
func New(c *catalog.Catalog, access access.Access, hooks map[string]Hooks) *Writer {
	return &Writer{Catalog: c, access: access, hooks: hooks, numbers: numbers.New(c.Store, c.Now), keysKept: newKeyCounts(maxIdempotencyKeys), streams: make(chan struct{}, 1), followed: make(chan struct{}, 1)}
}

// FieldValidation selects what happens to unknown properties.
type FieldValidation int

// The values of the parameter fieldValidation. BySchema, for a request without it, is
// Strict within values that the schema closes (x-unknown), and otherwise Warn.
const (
	BySchema FieldValidation = iota
	Warn
	Strict
	Ignore
)

// Operation is one object to create or update.
type Operation struct {
	Type *schema.Type
	// Object is what the client sent. The engine takes ownership.
	Object map[string]any
	// ID is the id in the path, or "".
	ID string
	// IfVersion, if not nil, reports whether the stored version, as in the object's
	// entity tag, is one that the client expects (If-Match, If-None-Match); "" means no
	// object.
	IfVersion func(version string) bool
	// OnlyNew refuses an existing object (If-None-Match: *).
	OnlyNew bool
	// MergePatch merges Object into an existing object at every depth (RFC 7396), and
	// never creates one.
	MergePatch bool
	// Set are properties that the service sets, in stored form, including read-only
	// ones.
	Set map[string]any
	// Kept is passed to the hooks as Change.Kept.
	Kept any
	// erases marks the operation of EraseObject.
	erases bool
}

// Batch is what one call writes in one transaction.
type Batch struct {
	// Network is the context, "" when all types are global.
	Network    string
	Operations []Operation
	// Listed adds the index of the object to faults.
	Listed          bool
	FieldValidation FieldValidation
	// ValidateOnly does everything except storing.
	ValidateOnly bool
	// MaxFaults bounds the faults of an error, 0 for message.MaxFaults.
	MaxFaults int
	// Time is when the objects appear to have been written, for demonstration data; zero
	// is the present.
	Time time.Time
	// IDRequired requires ids, whatever the type says.
	IDRequired bool
	// Idempotency, unless it is nil, makes a call that repeats an earlier one return the
	// result of that (Result.Repeated). It has no effect with ValidateOnly.
	Idempotency *Idempotency
}

// Unknown is an unknown property that was dropped.
type Unknown struct {
	Index      int
	Type, Path string
}

// Result is what a Write did, in the order of the operations.
type Result struct {
	Changes []*Change
	// Listed is that of the batch.
	Listed bool
	// Unknown lists at most MaxWarnings dropped properties.
	Unknown []Unknown
	// Following lists the types with dependants that the transaction has left to the
	// queue.
	Following []string
	// Repeated is what an earlier call with the same idempotency key has written, in place
	// of Changes; nil means that there was none.
	Repeated *Repeated
	// targets are what the transaction has read of referenced objects.
	targets map[written.Key]written.Target
}

// Created reports whether the first object was created.
func (r *Result) Created() bool {
	if r.Repeated != nil {
		return r.Repeated.Created
	}
	return len(r.Changes) > 0 && r.Changes[0].Created()
}

// Stored returns the objects of the result as the read path renders them.
func (r *Result) Stored() written.Objects {
	objects := written.Objects{Objects: make([]written.Object, len(r.Changes)), Listed: r.Listed, Targets: r.targets}
	for i, c := range r.Changes {
		label, _ := c.After[c.Type.Label].(string)
		parent, _ := c.After[c.Type.Parent].(string)
		objects.Objects[i] = written.Object{Type: c.Type, Record: &c.record, Label: label, Parent: parent, Shown: c.shown}
	}
	return objects
}

// shortBatch is the number of operations for which others need not be let through.
const shortBatch = 50

// Write stores a batch: all of it or nothing. Errors are of type *message.Error,
// except for internal ones.
func (e *Writer) Write(ctx context.Context, caller *access.Caller, batch Batch) (*Result, error) {
	w := e.newWriting(ctx, caller, batch)
	if err := w.prepare(); err != nil {
		return nil, err
	}
	if batch.Idempotency != nil && !batch.ValidateOnly {
		if err := w.identifyRequest(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.runPrepareHooks(); err != nil {
		return nil, err
	}
	w.prepared, w.preparedFaults = w.result.Changes, w.faults
	w.sent = make(map[objectKey]*Change, len(w.prepared))
	for _, c := range w.prepared {
		w.sent[c.key()] = c
	}
	n := len(batch.Operations)
	effort := store.Effort{Caller: caller.Account(), Records: n, Extensive: n > shortBatch, Reads: reads(w.prepared, caller.User, w.registry, e.Store.Serial(), w.lane)}
	if w.idempotency != nil {
		effort.Records++
		effort.Reads = append(effort.Reads, store.Lookup{Collection: IdempotencyKeys.Name, Keys: []store.Key{w.idempotency.key}})
	}
	err := w.withMemory(ctx, func() error {
		return w.transact(store.WithEffort(ctx, effort), func() error {
			if repeated, err := w.repeats(ctx); repeated || err != nil {
				return err
			}
			if err := w.run(); err != nil {
				return err
			}
			if err := putErasures(ctx, w.tx, w.prepared, w.now); err != nil {
				return err
			}
			if err := w.conclude(); err != nil {
				return err
			}
			return w.keepKey(ctx)
		})
	})
	if w.refusal != nil && errors.Is(err, w.refusal) {
		w.numbering.giveBack()
	}
	if err != nil {
		return nil, store.Translate(err)
	}
	if w.idempotency != nil && w.result.Repeated == nil {
		w.e.keysKept.add(w.idempotency.caller)
	}
	return w.result, nil
}

// Review runs stored objects of a type through the write path as they are, for what
// has changed with time alone. Dependants are left to the queue. Errors are those of
// Write.
func (e *Writer) Review(ctx context.Context, name, network string, ids []string) error {
	return store.Translate(e.rewrite(ctx, name, network, func(w *Writing, t *schema.Type) error {
		for _, id := range ids {
			w.Upsert(t, network, id, nil)
		}
		return nil
	}))
}
