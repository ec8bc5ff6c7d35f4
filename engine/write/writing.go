package write

import (
	"context"
	"slices"
	"time"

	"marquee/engine/access"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/schema/rule"
	"marquee/engine/store"
	"marquee/engine/written"
)

// Writing is one call of the write path. Hooks read and write through it.
type Writing struct {
	e        *Writer
	ctx      context.Context
	caller   *access.Caller
	batch    *Batch
	registry *schema.Registry
	result   *Result
	// prepared are the changes that the client asked for, sent the same by their key.
	prepared       []*Change
	sent           map[objectKey]*Change
	preparedFaults message.Faults
	// quiet reports whether no client waits for the result.
	quiet bool
	// reserved is the memory that the call had before it ran the transaction.
	reserved int64
	// numbering has the numbers that new objects have been given.
	numbering numbering
	// lane is that of the records which the call locks if it adds references. After keepLane
	// runs, which may all have met the same long transaction, each takes another one.
	lane, runs int
	// idempotency is nil for a call without a key.
	idempotency *idempotency

	transaction
}

const keepLane = 3

func (e *Writer) newWriting(ctx context.Context, caller *access.Caller, batch Batch) *Writing {
	return &Writing{e: e, ctx: ctx, caller: caller, batch: &batch, registry: e.Registry(), result: &Result{Listed: batch.Listed}, lane: e.Lane(),
		numbering:   numbering{reserve: e.numbers, validateOnly: batch.ValidateOnly},
		transaction: transaction{faults: message.Faults{Limit: batch.MaxFaults}}}
}

// transaction is one run of the transaction. Each run begins with a new value.
type transaction struct {
	tx     store.Tx
	auth   authorization
	now    time.Time
	faults message.Faults
	// refusal is the error of the faults, once they have ended a round.
	refusal error
	rounds
	afterCommit []func()
	// beforeCommit are the checks of BeforeCommit, beforeCommitKeys their keys.
	beforeCommit     []func() error
	beforeCommitKeys map[string]bool
	// left is how many dependants the transaction still writes, and leftOwned to how many
	// objects it still gives other owners. FollowUps are queue entries for the others.
	left      following
	leftOwned int
	followUps followUps
	// ruleBudget is what the rules of the changes have cost.
	ruleBudget rule.Budget
	indexings  indexings
	kept       kept
	// locked are the objects of Lock.
	locked map[objectKey]bool
	// targets are the names and parents of referenced objects that the answer may show.
	targets map[written.Key]written.Target
}

// Caller returns the caller of the write.
func (w *Writing) Caller() *access.Caller { return w.caller }

// ValidateOnly reports whether nothing of the call will be stored.
func (w *Writing) ValidateOnly() bool { return w.batch.ValidateOnly }

// Tx returns the transaction.
func (w *Writing) Tx() store.Tx { return w.tx }

// Now returns the time of the transaction.
func (w *Writing) Now() time.Time { return w.now }

// Type returns a type of the registry that the call is served with.
func (w *Writing) Type(name string) (*schema.Type, bool) { return w.registry.Type(name) }

// Add adds a fault, so that nothing of the call is stored.
func (w *Writing) Add(m message.Message) { w.faults.Add(m) }

// Change returns the change of an object in this transaction.
func (w *Writing) Change(collection, network, id string) (*Change, bool) {
	c, ok := w.byKey[objectKey{collection, network, id}]
	return c, ok
}

// Lookup reads objects of a type in a network by their ids, with one query, as the
// transaction leaves them, and with what the schema asks of stored objects
// (document.Shape.Amended).
func (w *Writing) Lookup(collection, network string, ids []string) (map[string]store.Found, error) {
	seen := make(map[string]store.Found, len(ids))
	t, _ := w.registry.Type(collection)
	err := w.lookup(collection, network, ids, func(c *Change) { seen[c.ID] = store.Found{Object: c.After, State: c.State} }, func(r *store.Record) error {
		object, err := decodeAmended(t, r)
		seen[r.ID] = store.Found{Object: object, State: r.State}
		return err
	})
	return seen, err
}

// States reads the objectState of objects of a type in a network by their ids, with
// one query, as the transaction leaves them.
func (w *Writing) States(collection, network string, ids []string) (map[string]string, error) {
	states := make(map[string]string, len(ids))
	err := w.lookup(collection, network, ids, func(c *Change) { states[c.ID] = c.State }, func(r *store.Record) error {
		states[r.ID] = r.State
		return nil
	})
	return states, err
}

// lookup calls changed for the ids that the transaction changes, and stored with a
// lent record for the others that exist.
func (w *Writing) lookup(collection, network string, ids []string, changed func(*Change), stored func(*store.Record) error) error {
	t, served := w.registry.Type(collection)
	if !served {
		return nil
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	keys := make([]store.Key, 0, len(ids))
	for _, id := range ids {
		if c, changes := w.Change(collection, t.NetworkOf(network), id); changes {
			if c.After != nil {
				changed(c)
			}
			continue
		}
		keys = append(keys, store.Key{Network: t.NetworkOf(network), ID: id})
	}
	return w.tx.Get(w.ctx, collection, keys, stored)
}

// Lock counts as a write of objects of a type in a network for conflicts, and changes
// nothing: of two transactions that lock or write the same object, one runs again, and
// then sees what the other has written. Objects that do not exist are not locked.
func (w *Writing) Lock(collection, network string, ids ...string) error {
	t, served := w.registry.Type(collection)
	if !served {
		return nil
	}
	var keys []store.Key
	for _, id := range ids {
		if key := (objectKey{collection, t.NetworkOf(network), id}); !w.locked[key] {
			w.locked[key] = true
			keys = append(keys, store.Key{Network: key.network, ID: id})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return w.tx.Lock(w.ctx, collection, keys)
}

// Find yields the stored objects of a type in a network that meet a condition, as they
// were before the changes of the round. Limit 0 is no limit. Until the service has written
// them, the condition and the documents have former values (x-was-values), and lack defaults
// that are filled in.
//
// A store may run transactions side by side (store.Store.Serial), as MongoDB does. Find
// then does not see what another one writes meanwhile, and neither do Lookup and States:
// two bookings of a room at the same time both find it free. A hook that refuses a write
// because of what it has found therefore first locks an object that all writes lock or
// write on which the result depends: for a booking, its room.
func (w *Writing) Find(t *schema.Type, network string, where query.Expr, limit int, yield func(r *store.Record) error) error {
	return store.FindAll(w.ctx, w.tx, query.Query{Collection: t.Name, Network: t.NetworkOf(network), Where: where, Order: store.OldestFirst}, limit, yield)
}

// Upsert adds a change of one object to the transaction, without checking permissions.
// Edit alters the document and may run again; nil runs the hooks of the unchanged
// object. The change is not loaded yet.
func (w *Writing) Upsert(t *schema.Type, network, id string, edit func(object map[string]any)) *Change {
	key := objectKey{t.Name, t.NetworkOf(network), id}
	c := w.queuedByKey[key]
	if c == nil {
		c = &Change{Type: t, Caller: w.caller, Index: -1, Network: key.network, Context: network, ID: id}
		w.enqueue(c)
	}
	if edit != nil {
		c.edits = append(c.edits, edit)
	}
	return c
}

// Round returns the changes of a type that are merged and not yet stored.
func (w *Writing) Round(name string) []*Change {
	var changes []*Change
	for _, c := range w.round {
		if c.Type.Name == name {
			changes = append(changes, c)
		}
	}
	return changes
}

// BeforeCommit adds a check that runs once per key when everything is written and
// before the transaction commits. It may add faults, and read and write through
// Tx, but not add changes.
func (w *Writing) BeforeCommit(key string, check func() error) {
	if !w.HasBeforeCommit(key) {
		w.beforeCommit = append(w.beforeCommit, check)
		w.beforeCommitKeys[key] = true
	}
}

// HasBeforeCommit reports whether a check was added under a key.
func (w *Writing) HasBeforeCommit(key string) bool { return w.beforeCommitKeys[key] }

// AfterCommit adds a function that runs once the transaction is committed.
func (w *Writing) AfterCommit(do func()) { w.afterCommit = append(w.afterCommit, do) }

// HasHidden reports whether a stored object of a type in a network meets a condition
// and is not visible to the caller.
func (w *Writing) HasHidden(t *schema.Type, network string, where query.Expr) (bool, error) {
	visible, err := w.auth.visible(t, network)
	if err != nil || w.caller.System || query.IsAll(visible) {
		return false, err
	}
	found := false
	err = w.Find(t, network, query.And{where, query.Not{Of: visible}}, 1, func(*store.Record) error {
		found = true
		return nil
	})
	return found, err
}
