package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// FieldValidation says what happens to unknown properties.
type FieldValidation int

// The values of the parameter fieldValidation.
const (
	Warn FieldValidation = iota
	Strict
	Ignore
)

// Operation is one object to create or update.
type Operation struct {
	Type *schema.Type
	// Object is what the client sent; the engine takes it over.
	Object map[string]any
	// ID is the id that the path names, or "".
	ID string
	// IfVersion, when it is not nil, tells whether the present version is one
	// that the client expects (If-Match); version 0 is no object.
	IfVersion func(version int64) bool
	// OnlyNew refuses an object that exists (If-None-Match: *).
	OnlyNew bool
	// Set are properties that the service itself gives the object, in their
	// stored form; also such that a client cannot.
	Set map[string]any
	// Kept is carried to the hooks, as Change.Kept.
	Kept any
}

// Batch is what one call writes, in one transaction.
type Batch struct {
	// Network is the context; "" when there are only global types.
	Network    string
	Operations []Operation
	// Listed says that faults name the index of their object.
	Listed          bool
	FieldValidation FieldValidation
	// ValidateOnly does everything but store.
	ValidateOnly bool
	// MaxFaults is how many faults an error lists, 0 for message.MaxFaults.
	MaxFaults int
	// IDRequired says that no object is given an id, whatever its type.
	IDRequired bool
}

// Change is one object on its way through the write path.
type Change struct {
	Type   *schema.Type
	Caller *Caller
	// Index is the place in the batch, -1 for a change that a hook added.
	Index int
	// Network is where the record is kept, "" for a global type; Context is
	// that of the call.
	Network, Context, ID string
	// Patch is what the client sent, normalised; a null removes.
	Patch map[string]any
	// Before and After are the document as stored and as it will be, secrets
	// in the clear; Before is nil for a new object.
	Before, After map[string]any
	// StateBefore and State are the objectState.
	StateBefore, State string
	// Kept carries what a hook's Prepare made for its later parts.
	Kept any

	op *Operation
	// wanted is the objectState that the client sent, or "".
	wanted  string
	stored  *store.Record
	sealed  map[string]string
	record  store.Record
	listed  bool
	edits   []func(map[string]any)
	touched []string
	// malformed and unknown are what was wrong with what the client sent, before
	// the transaction.
	malformed []message.Message
	unknown   []Unknown
	refused   []message.Message
	warned    []message.Message
	points    map[string]string
	pending   missing
	examined
}

// Created reports whether the object is new.
func (c *Change) Created() bool { return c.stored == nil }

// Internal reports whether a hook made the change, and not the caller.
func (c *Change) Internal() bool { return c.op == nil }

// Touch says that the object changes although its document does not: its
// history names the property, without values.
func (c *Change) Touch(property string) { c.touched = append(c.touched, property) }

// Changed reports whether there is anything to store. It is known once the
// object has been validated.
func (c *Change) Changed() bool { return c.changed }

// Point tells faults at a pointer, and below it, at another one: at what the
// client sent, where a hook has put that elsewhere.
func (c *Change) Point(from, to string) {
	if c.points == nil {
		c.points = map[string]string{}
	}
	c.points[from] = to
}

// Fault is a message about the change: at a pointer, with the place in the
// batch.
func (c *Change) Fault(d *message.Definition, pointer string, params message.Params) message.Message {
	for from, to := range c.points {
		if rest, below := strings.CutPrefix(pointer, from); below && (rest == "" || rest[0] == '/') {
			pointer = to + rest
			break
		}
	}
	place := message.Params{"field": pointer, "type": c.Type.Name}
	if c.listed {
		place["index"] = c.Index
	}
	if c.ID != "" {
		place["objectId"] = c.ID
	}
	return d.With(params).Adding(place)
}

// Unknown is an unknown property that was dropped.
type Unknown struct {
	Index      int
	Type, Path string
}

// MaxWarnings is how many dropped properties are named.
const MaxWarnings = 20

// Result is what a Write did, in the order of the operations.
type Result struct {
	Changes []*Change
	// Listed is that of the batch.
	Listed bool
	// Unknown are the properties that were dropped, at most MaxWarnings.
	Unknown []Unknown
}

// Write stores a batch: all of it or nothing. Errors are *message.Error but
// for internal faults.
func (e *Engine) Write(ctx context.Context, caller *Caller, batch Batch) (*Result, error) {
	e.writes.RLock()
	defer e.writes.RUnlock()
	w := &Writing{e: e, ctx: ctx, caller: caller, batch: &batch, registry: e.Registry(), result: &Result{Listed: batch.Listed},
		faults: message.Faults{Limit: batch.MaxFaults}}
	if err := w.prepare(); err != nil {
		return nil, err
	}
	if err := w.prepareSlowly(); err != nil {
		return nil, err
	}
	if e.Registry() != w.registry {
		return nil, message.ConflictUnresolved.Error(nil)
	}
	w.prepared, w.preparedFaults = w.result.Changes, w.faults
	w.sent = make(map[objectKey]*Change, len(w.prepared))
	for _, c := range w.prepared {
		w.sent[c.key()] = c
	}
	err := e.Store.Write(ctx, func(tx store.Tx) error {
		w.begin(tx)
		if err := w.run(); err != nil {
			return err
		}
		if batch.ValidateOnly {
			return store.ErrRollback
		}
		return nil
	})
	if err != nil && !(batch.ValidateOnly && errors.Is(err, store.ErrRollback)) {
		return nil, Translate(err)
	}
	if err == nil {
		w.end()
	}
	return w.result, nil
}

// Review runs stored objects of a type through the write path as they are, for
// what the time alone has changed. Errors are those of Write.
func (e *Engine) Review(ctx context.Context, name, network string, ids []string) error {
	e.writes.RLock()
	defer e.writes.RUnlock()
	w := &Writing{e: e, ctx: ctx, caller: &Caller{System: true}, batch: &Batch{Network: network}, registry: e.Registry(), result: &Result{}}
	t, served := w.registry.Type(name)
	if !served {
		return nil
	}
	err := e.Store.Write(ctx, func(tx store.Tx) error {
		w.begin(tx)
		for _, id := range ids {
			w.Upsert(t, network, id, nil)
		}
		return w.run()
	})
	if err == nil {
		w.end()
	}
	return Translate(err)
}

// Writing is one run of the write path. Hooks read and write through it.
type Writing struct {
	e        *Engine
	ctx      context.Context
	caller   *Caller
	batch    *Batch
	registry *schema.Registry
	result   *Result
	// prepared are the changes that the client asked for, also by their key.
	prepared       []*Change
	sent           map[objectKey]*Change
	preparedFaults message.Faults

	// What follows is made anew for each run of the transaction.
	tx     store.Tx
	now    time.Time
	faults message.Faults
	// refusal is the error of the faults, once they have ended a round.
	refusal error
	// round is what is being written now; queued is what hooks added since.
	round, queued []*Change
	queuedByKey   map[objectKey]*Change
	byKey         map[objectKey]*Change
	then          []func()
	// checked are the types whose schema is known to be no older than others.
	checked map[string]bool
}

type objectKey struct{ collection, network, id string }

func (c *Change) key() objectKey { return objectKey{c.Type.Name, c.Network, c.ID} }

// Caller is who writes.
func (w *Writing) Caller() *Caller { return w.caller }

// Tx is the transaction.
func (w *Writing) Tx() store.Tx { return w.tx }

// Now is the time of the transaction.
func (w *Writing) Now() time.Time { return w.now }

// Type finds a type of the registry that the call is served with.
func (w *Writing) Type(name string) (*schema.Type, bool) { return w.registry.Type(name) }

// Add notes a fault; the write will be refused.
func (w *Writing) Add(m message.Message) { w.faults.Add(m) }

// Change finds the change of an object in this transaction.
func (w *Writing) Change(collection, network, id string) (*Change, bool) {
	c, ok := w.byKey[objectKey{collection, network, id}]
	return c, ok
}

// prepare does, once, what needs no transaction: ids, unknown properties,
// normal form.
func (w *Writing) prepare() error {
	seen := map[objectKey]bool{}
	for i := range w.batch.Operations {
		c, err := w.change(&w.batch.Operations[i], i)
		if err != nil {
			return err
		}
		if key := c.key(); c.ID != "" {
			if seen[key] {
				w.faults.Add(c.Fault(message.DuplicateID, "/id", nil))
			}
			seen[key] = true
		}
		w.result.Changes = append(w.result.Changes, c)
	}
	err := spread(len(w.result.Changes), func() func(int) error {
		return func(i int) error {
			w.result.Changes[i].normalise(w.batch.FieldValidation)
			return nil
		}
	})
	for _, c := range w.result.Changes {
		w.noted(c)
	}
	w.result.sort()
	return err
}

// sort orders what was dropped by object, as names come in any order.
func (r *Result) sort() {
	slices.SortFunc(r.Unknown, func(a, b Unknown) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Path, b.Path))
	})
}

// change makes the change of an operation, with its id.
func (w *Writing) change(op *Operation, index int) (*Change, error) {
	// The type is that of the registry which writes hold now: the request may
	// have found it in the one before.
	t, served := w.registry.Type(op.Type.Name)
	if !served {
		return nil, message.TypeUnknown.Error(message.Params{"type": op.Type.Name})
	}
	op.Type = t
	c := &Change{Type: t, Caller: w.caller, Index: index, Context: w.batch.Network,
		Network: home(t, w.batch.Network), op: op, listed: w.batch.Listed}
	return c, w.identify(c)
}

// prepareSlowly runs the hooks that do slow work, while a registry may be
// swapped: one that waits for all writes to end keeps further ones waiting. In
// the rare case that this happens the client is asked to try again.
func (w *Writing) prepareSlowly() error {
	hooked := slices.DeleteFunc(slices.Clone(w.result.Changes), func(c *Change) bool {
		return w.e.Hooks[c.Type.Name].Prepare == nil
	})
	if len(hooked) == 0 {
		return nil
	}
	w.e.writes.RUnlock()
	defer w.e.writes.RLock()
	for _, c := range hooked {
		if err := w.e.Hooks[c.Type.Name].Prepare(w.ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// identify finds the id of an object: the path's, the body's, or a new one.
func (w *Writing) identify(c *Change) error {
	for _, name := range []string{"id", c.Type.IDProperty} {
		value, there := c.op.Object[name]
		if name == "" || !there {
			continue
		}
		delete(c.op.Object, name)
		if value == nil {
			continue
		}
		id, ok := value.(string)
		if !ok || !c.Type.ValidID(id) {
			return badRequest(c, message.BadID, message.Params{"field": "/" + name})
		}
		if c.ID != "" && c.ID != id || c.op.ID != "" && c.op.ID != id {
			return badRequest(c, message.IDMismatch, message.Params{"field": "/" + name, "value": id, "id": cmp.Or(c.op.ID, c.ID)})
		}
		c.ID = id
	}
	switch {
	case c.op.ID != "":
		c.ID = c.op.ID
	case c.ID != "":
	case c.Type.IDRequired, w.batch.IDRequired:
		w.faults.Add(c.Fault(message.IDRequired, "/"+cmp.Or(c.Type.IDProperty, "id"), nil))
	default:
		c.ID = NewID()
	}
	return nil
}

func badRequest(c *Change, d *message.Definition, params message.Params) error {
	if c.listed {
		params["index"] = c.Index
	}
	return d.Error(params)
}

const idLetters = "abcdefghijklmnopqrstuvwxyz234567"

// NewID makes an id: 16 characters of lower-case letters and digits, 80 bits
// from a cryptographic source.
func NewID() string {
	var random [16]byte
	rand.Read(random[:])
	for i, b := range random {
		random[i] = idLetters[b&31]
	}
	return string(random[:])
}

// normalise takes the common fields out of the object and brings the rest into
// its stored form.
func (c *Change) normalise(unknown FieldValidation) {
	object := c.op.Object
	if state, there := object["objectState"]; there {
		delete(object, "objectState")
		switch state {
		case "ACTIVE", "INACTIVE", "HIDDEN":
			c.wanted = state.(string)
		case nil:
			c.wanted = "ACTIVE"
		default:
			c.malformed = append(c.malformed, c.Fault(message.ValueEnum, "/objectState", message.Params{"allowed": "ACTIVE, INACTIVE, HIDDEN"}))
		}
	}
	for _, name := range []string{"createTime", "updateTime", "createUser", "updateUser", "network", "url", "validationWarnings"} {
		if c.Type.Shape.Properties[name] == nil {
			delete(object, name)
		}
	}
	n := document.Normaliser{
		Unknown: func(at document.Pointer) {
			switch unknown {
			case Strict:
				c.malformed = append(c.malformed, c.Fault(message.PropertyUnknown, at.String(), nil))
			case Warn:
				if len(c.unknown) < MaxWarnings {
					c.unknown = append(c.unknown, Unknown{Index: c.Index, Type: c.Type.Name, Path: at.String()})
				}
			}
		},
		Fault: func(d *message.Definition, at document.Pointer, params message.Params) {
			c.malformed = append(c.malformed, c.Fault(d, at.String(), params))
		},
	}
	n.Object(c.Type.Shape, object)
	maps.Copy(object, c.op.Set)
	c.Patch, c.Kept = object, c.op.Kept
}

// noted adds what was found when a change was brought into its stored form to
// what was found in others.
func (w *Writing) noted(c *Change) {
	for _, fault := range c.malformed {
		w.faults.Add(fault)
	}
	left := MaxWarnings - len(w.result.Unknown)
	w.result.Unknown = append(w.result.Unknown, c.unknown[:min(left, len(c.unknown))]...)
}
