package engine

import (
	"cmp"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// referenced is one place of a change that refers to an object.
type referenced struct {
	change  *Change
	pointer string
	ref     *document.Reference
	key     objectKey
}

// place names the objects of one type in one network.
type place struct{ collection, network string }

// checkReferences holds every reference that is new against what is there,
// in the store or in the batch, with one query a place. Nothing is ever
// deleted, and what a reference demands of its target is immutable, so a
// reference that held once holds for ever, and its target need not be locked.
func (w *Writing) checkReferences(s store.Snapshot) error {
	wanted := map[place][]referenced{}
	for _, c := range w.round {
		for _, r := range c.references {
			where := place{r.key.collection, r.key.network}
			wanted[where] = append(wanted[where], r)
		}
	}
	order := slices.SortedFunc(maps.Keys(wanted), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.collection, b.collection), cmp.Compare(a.network, b.network))
	})
	for _, where := range order {
		if err := w.checkPlace(s, where, wanted[where]); err != nil {
			return err
		}
	}
	return nil
}

// newReferences finds the references that a change adds. What the service itself
// puts into read-only properties it has looked up. One that the changed
// property held already, perhaps elsewhere in it, is not new: the caller need
// not see its target.
func (w *Writing) newReferences(c *Change) []referenced {
	changed, before, held := map[string]any{}, map[string]any{}, map[heldReference]bool{}
	for name, value := range c.After {
		if member := c.Type.Shape.Properties[name]; member != nil && (member.Plain || member.ReadOnly) {
			continue
		}
		if was, there := c.Before[name]; !there || !document.Equal(was, value) {
			changed[name], before[name] = value, was
		}
	}
	if c.Before != nil {
		c.Type.Shape.References(before, func(_ document.Pointer, ref *document.Reference, id, network string) {
			held[heldReference{ref, id, network}] = true
		})
	}
	var found []referenced
	c.Type.Shape.References(changed, func(at document.Pointer, ref *document.Reference, id, network string) {
		target, ok := w.registry.Type(ref.Type)
		if !ok || id == "" || held[heldReference{ref, id, network}] {
			return
		}
		key := objectKey{ref.Type, home(target, cmp.Or(network, c.Context)), id}
		found = append(found, referenced{c, at.String(), ref, key})
	})
	return found
}

// checkLookups refuses ids that are in no list. What has not changed is as it
// was when the list had it.
func (c *Change) checkLookups(lists map[string]func(int64) ([]Member, bool)) {
	if !c.Type.Shape.HasLookups {
		return
	}
	changed := map[string]any{}
	for name, value := range c.After {
		if member := c.Type.Shape.Properties[name]; member != nil && member.HasLookups && !document.Equal(c.Before[name], value) {
			changed[name] = value
		}
	}
	c.Type.Shape.Lookups(changed, func(at document.Pointer, list string, value any) {
		id, whole := value.(int64)
		if find := lists[list]; find != nil && whole {
			if _, found := find(id); !found {
				c.faults = append(c.faults, c.Fault(message.ReferencedObjectNotFound, at.String(), message.Params{"type": list, "id": id}))
			}
		}
	})
}

// heldReference is a reference at a place of a shape.
type heldReference struct {
	ref         *document.Reference
	id, network string
}

func (w *Writing) checkPlace(s store.Snapshot, where place, refs []referenced) error {
	target, _ := w.registry.Type(where.collection)
	demanding := false
	var ids []string
	for _, r := range refs {
		demanding = demanding || len(r.ref.Where) > 0
		if w.byKey[r.key] == nil {
			ids = append(ids, r.key.id)
		}
	}
	slices.Sort(ids)
	targets := map[string]map[string]any{}
	if len(ids) > 0 {
		visible := query.Expr(query.And{})
		if w.batchMade(refs) {
			visible = w.e.Access.Visible(w.caller, target, cmp.Or(where.network, w.batch.Network))
		}
		err := visit(w.ctx, s, where, slices.Compact(ids), visible, func(r *store.Record) error {
			if !demanding {
				targets[r.ID] = nil
				return nil
			}
			object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
			targets[r.ID] = object
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, r := range refs {
		object, exists := targets[r.key.id]
		if c := w.byKey[r.key]; c != nil {
			object, exists = c.After, true
		}
		w.checkReference(r, object, exists)
	}
	return nil
}

// batchMade tells references of the caller from those that hooks made, which
// may name what the caller does not see.
func (w *Writing) batchMade(refs []referenced) bool {
	return slices.ContainsFunc(refs, func(r referenced) bool { return r.change.op != nil })
}

func (w *Writing) checkReference(r referenced, target map[string]any, exists bool) {
	if !exists {
		w.faults.Add(r.change.Fault(message.ReferencedObjectNotFound, r.pointer, message.Params{"type": r.ref.Type, "id": r.key.id}))
		return
	}
	for name, expected := range r.ref.Where {
		if target[name] != expected {
			w.faults.Add(r.change.Fault(message.ReferenceMismatch, r.pointer,
				message.Params{"type": r.ref.Type, "id": r.key.id, "property": name, "expected": expected}))
		}
	}
}
