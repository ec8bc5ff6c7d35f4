package engine

import (
	"context"
	"encoding/json"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Hooks are the rules of a type that its schema cannot say. Each may be nil.
// Those of a write get all changes of the type in a round at once, so that they
// can read what they need in one go, and may run again, as the transaction may.
type Hooks struct {
	// Prepare runs once, before the transaction: slow work goes here.
	Prepare func(ctx context.Context, c *Change) error
	// Merged runs after the merge and before validation: it may alter c.After,
	// and add faults.
	Merged func(ctx context.Context, w *Writing, changes []*Change) error
	// Judged runs when the changes of all types are merged, before validation:
	// it may add faults and warnings that depend on other objects.
	Judged func(ctx context.Context, w *Writing, changes []*Change) error
	// Written runs for those that are about to be stored: it may write more
	// through w.
	Written func(ctx context.Context, w *Writing, changes []*Change) error
	// Shown runs before a record is rendered for a caller, and may replace its
	// document.
	Shown func(caller *Caller, r *store.Record) error
	// Derived runs before records are rendered, in the snapshot that they were
	// read in, and may add properties to their documents with Set. It may run
	// again.
	Derived func(ctx context.Context, r *Reading, records []*store.Record) error
	// Hidden are the top-level properties of which Shown hides parts. Lists
	// cannot ask for them: what they find would tell of those parts.
	Hidden []string
}

// Each makes a hook of many changes of one for a single change.
func Each(hook func(ctx context.Context, w *Writing, c *Change) error) func(context.Context, *Writing, []*Change) error {
	return func(ctx context.Context, w *Writing, changes []*Change) error {
		for _, c := range changes {
			if err := hook(ctx, w, c); err != nil {
				return err
			}
		}
		return nil
	}
}

// hooks calls a hook of each type with its changes.
func (w *Writing) hooks(changes []*Change, of func(Hooks) func(context.Context, *Writing, []*Change) error) error {
	var names []string
	byType := map[string][]*Change{}
	for _, c := range changes {
		if of(w.e.Hooks[c.Type.Name]) == nil {
			continue
		}
		if byType[c.Type.Name] == nil {
			names = append(names, c.Type.Name)
		}
		byType[c.Type.Name] = append(byType[c.Type.Name], c)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := of(w.e.Hooks[name])(w.ctx, w, byType[name]); err != nil {
			return err
		}
	}
	return nil
}

// Warn adds a warning to those that the object is stored with.
func (c *Change) Warn(d *message.Definition, pointer string, params message.Params) {
	c.warned = append(c.warned, d.With(params).Adding(message.Params{"field": pointer}))
}

// Warned reports whether the object is stored with a warning.
func (c *Change) Warned(d *message.Definition) bool {
	if c.stored == nil || len(c.stored.Warnings) == 0 {
		return false
	}
	var warnings []struct {
		Code string `json:"code"`
	}
	return json.Unmarshal(c.stored.Warnings, &warnings) == nil &&
		slices.ContainsFunc(warnings, func(w struct {
			Code string `json:"code"`
		}) bool {
			return w.Code == d.Code
		})
}

// Refuse adds a fault of the change; nothing of the call will be stored.
func (c *Change) Refuse(d *message.Definition, pointer string, params message.Params) {
	c.refused = append(c.refused, c.Fault(d, pointer, params))
}

// Seen is an object as a transaction leaves it: merged, where it is among the
// changes, or as it is stored.
type Seen struct {
	// Object is the document; secrets are encrypted where it is as stored. It
	// must not be changed.
	Object map[string]any
	State  string
}

// See reads objects of a type in a network by their ids, in one query.
func (w *Writing) See(collection, network string, ids []string) (map[string]Seen, error) {
	t, served := w.registry.Type(collection)
	if !served {
		return nil, nil
	}
	seen := make(map[string]Seen, len(ids))
	var keys []store.Key
	for _, id := range ids {
		if _, twice := seen[id]; twice {
			continue
		}
		if c, changes := w.Change(collection, home(t, network), id); changes {
			seen[id] = Seen{c.After, c.State}
			continue
		}
		seen[id] = Seen{}
		keys = append(keys, store.Key{Network: home(t, network), ID: id})
	}
	err := w.tx.Get(w.ctx, collection, keys, func(r *store.Record) error {
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		seen[r.ID] = Seen{object, r.State}
		return err
	})
	for id, s := range seen {
		if s.Object == nil {
			delete(seen, id)
		}
	}
	return seen, err
}

// Find yields the ids of the stored objects of a type in a network for which a
// condition holds, also of those that are among the changes, as they were
// stored. Limit 0 is no limit.
func (w *Writing) Find(t *schema.Type, network string, where query.Expr, limit int, yield func(r *store.Record) error) error {
	return findAll(w.ctx, w.tx, query.Query{Collection: t.Name, Network: home(t, network), Where: where, Order: oldestFirst}, limit, yield)
}

// oldestFirst is the order that the index of every reference has, so that all
// objects which refer to one are found without bringing them into order.
var oldestFirst = query.Order{Field: query.Field{System: query.CreateTime, Kind: query.Time}}

// findPage is how many objects are found at once where all are wanted.
const findPage = 1000

func findAll(ctx context.Context, s store.Snapshot, q query.Query, limit int, yield func(r *store.Record) error) error {
	for found := 0; limit == 0 || found < limit; {
		q.Limit = findPage
		if limit > 0 {
			q.Limit = min(findPage, limit-found)
		}
		n := 0
		err := s.Find(ctx, q, func(r *store.Record) error {
			n++
			q.After = positionOf(q.Order.Field, r)
			return yield(r)
		})
		if found += n; err != nil || n < q.Limit {
			return err
		}
	}
	return nil
}

// Round lists the changes of a type that are merged, but not yet stored.
func (w *Writing) Round(name string) []*Change {
	var changes []*Change
	for _, c := range w.round {
		if c.Type.Name == name {
			changes = append(changes, c)
		}
	}
	return changes
}

// Then has something done once the transaction is committed, and not at all
// when it is not.
func (w *Writing) Then(do func()) { w.then = append(w.then, do) }

// Reading is one run of the read path, as the hooks see it.
type Reading struct {
	v *view
	s store.Snapshot
	// Single tells that one object was asked for, and not a list.
	Single bool
}

// Caller is who reads.
func (r *Reading) Caller() *Caller { return r.v.caller }

// Shows reports whether the caller has asked for a top-level property.
func (r *Reading) Shows(property string) bool { return r.v.projection.has(property) }

// Snapshot is what is read from. It must not be kept.
func (r *Reading) Snapshot() store.Snapshot { return r.s }

// See reads objects of a type in a network by their ids, in one query. Those
// that the caller does not see are there, too.
func (r *Reading) See(ctx context.Context, collection, network string, ids []string) (map[string]Seen, error) {
	t, served := r.v.registry.Type(collection)
	if !served || len(ids) == 0 {
		return nil, nil
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	seen := make(map[string]Seen, len(ids))
	err := r.s.Get(ctx, collection, keysIn(home(t, network), ids), func(record *store.Record) error {
		object, err := document.DecodeObject(record.Document, document.Limits{Depth: 1000})
		seen[record.ID] = Seen{object, record.State}
		return err
	})
	return seen, err
}

// Set puts properties into the document of a record; nil removes one.
func Set(r *store.Record, properties map[string]any) error {
	object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err != nil {
		return err
	}
	for name, value := range properties {
		if object[name] = value; value == nil {
			delete(object, name)
		}
	}
	r.Document = document.Append(nil, object)
	return nil
}

// Unseen reports whether there is a stored object of a type in a network for
// which a condition holds, and which the caller does not see.
func (w *Writing) Unseen(t *schema.Type, network string, where query.Expr) (bool, error) {
	visible := w.e.Access.Visible(w.caller, t, network)
	if w.caller.System || always(visible) {
		return false, nil
	}
	found := false
	err := w.Find(t, network, query.And{where, query.Not{Of: visible}}, 1, func(*store.Record) error {
		found = true
		return nil
	})
	return found, err
}
