package write

import (
	"cmp"
	"maps"
	"slices"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// referenced is a place of a change that refers to an object.
type referenced struct {
	change  *Change
	pointer string
	ref     *document.Reference
	key     objectKey
}

// checkReferences checks every new reference against the store and the batch, with one
// query for each type and network. Targets need no lock: nothing is deleted, and what
// a reference requires of its target is immutable.
func (w *Writing) checkReferences() error {
	wanted := map[store.Place][]referenced{}
	for _, c := range w.round {
		for _, r := range c.references {
			where := store.Place{Collection: r.key.collection, Network: r.key.network}
			wanted[where] = append(wanted[where], r)
		}
	}
	order := slices.SortedFunc(maps.Keys(wanted), func(a, b store.Place) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Network, b.Network))
	})
	for _, where := range order {
		if err := w.checkPlace(where, wanted[where]); err != nil {
			return err
		}
	}
	return nil
}

// newReferences returns the references that a change adds. A reference that the
// property held before, at any place in it, is not new, so that the caller need not
// see its target. Read-only properties, and those that the service supplies, hold references
// that the service itself has looked up.
func (c *Change) newReferences(registry *schema.Registry) []referenced {
	changed, before, held := map[string]any{}, map[string]any{}, map[heldReference]bool{}
	for name, value := range c.After {
		if member := c.Type.Shape.Member(name); member != nil && (member.Plain || member.ReadOnly || slices.Contains(c.supplied, name)) {
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
		target, ok := registry.Type(ref.Type)
		if !ok || id == "" || held[heldReference{ref, id, network}] {
			return
		}
		key := objectKey{ref.Type, target.NetworkOf(cmp.Or(network, c.Context)), id}
		found = append(found, referenced{c, at.String(), ref, key})
	})
	return found
}

// checkLookups refuses new ids that are not in their lists.
func (c *Change) checkLookups(lists map[string]func(int64) ([]catalog.Member, bool)) {
	if !c.Type.Shape.HasLookups {
		return
	}
	changed := map[string]any{}
	for name, value := range c.After {
		if member := c.Type.Shape.Member(name); member != nil && member.HasLookups && !document.Equal(c.Before[name], value) {
			changed[name] = value
		}
	}
	c.Type.Shape.Lookups(changed, func(at document.Pointer, list string, value any) {
		id, whole := value.(int64)
		if find := lists[list]; find != nil && whole && len(c.faults) < message.MaxFaults {
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

func (w *Writing) checkPlace(where store.Place, refs []referenced) error {
	target, _ := w.registry.Type(where.Collection)
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
		visible := query.All
		// Those made by hooks may name objects that the caller does not see.
		if slices.ContainsFunc(refs, func(r referenced) bool { return !r.change.Internal() }) {
			var err error
			if visible, err = w.auth.visible(target, cmp.Or(where.Network, w.batch.Network)); err != nil {
				return err
			}
		}
		err := access.GetVisible(w.ctx, w.auth.s, where, slices.Compact(ids), visible, func(r *store.Record) error {
			w.noteTarget(target, r)
			if !demanding {
				targets[r.ID] = nil
				return nil
			}
			object, err := decodeAmended(target, r)
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
		r.check(object, exists, &w.faults)
	}
	return nil
}

// check adds the faults of a reference to a target.
func (r *referenced) check(target map[string]any, exists bool, faults *message.Faults) {
	if !exists {
		r.change.unresolved = append(r.change.unresolved, r.pointer)
		faults.Add(r.change.Fault(message.ReferencedObjectNotFound, r.pointer, message.Params{"type": r.ref.Type, "id": r.key.id}))
		return
	}
	for name, expected := range r.ref.Where {
		if target[name] != expected {
			faults.Add(r.change.Fault(message.ReferenceMismatch, r.pointer,
				message.Params{"type": r.ref.Type, "id": r.key.id, "property": name, "expected": expected}))
		}
	}
}
