package write

import (
	"maps"
	"slices"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// The owners of an object, which schemas name by a path, are terms of the object. They
// are computed when it is written, from the objects that the path leads through. When
// one of those refers to something else, the terms of the objects that belong to it,
// directly or indirectly, are computed again: up to MaxFollowing of them in the same
// transaction, and the rest from the queue (followUp).
//
// Where transactions run side by side, another one may write an object that belongs to
// the changed one without either seeing the other. So each such change leaves a queue
// entry there, as that of dependants does. While the entry is open, callers who see only
// what they or their teams own do not see the objects that belong to the changed one (access.Sight).
// They are found by terms for the objects that their paths led through when they were
// written.

// computeOwners computes the owners of the objects of the round.
func (w *Writing) computeOwners() error {
	for _, some := range byType(w.round, (*Change).moves) {
		of := owning{w, some[0].Type.Name, some[0].ownerKeys()}
		if err := of.changes(some); err != nil {
			return err
		}
	}
	return nil
}

// owning computes the owners of objects of a type, which are indexed by keys.
type owning struct {
	w    *Writing
	name string
	keys map[string][]schema.OwnerPath
}

// changes computes the owners of objects of the round.
func (o *owning) changes(changes []*Change) error {
	objects := make([]catalog.Owned, len(changes))
	var stored []store.Key
	for i, c := range changes {
		objects[i] = catalog.OwnedObject(c.recordKey(), c.After)
		if c.stored != nil {
			stored = append(stored, c.recordKey())
		}
	}
	held, wanted, err := o.terms(objects, stored)
	if err != nil {
		return err
	}
	maintained := changes[0].index.OwnerKeys()
	for i, c := range changes {
		c.setOwners(maintained, held[objects[i].Key], wanted[objects[i].Key])
		if c.stored != nil {
			c.moved = catalog.Moved(o.keys, held[objects[i].Key], wanted[objects[i].Key])
		}
	}
	return nil
}

// ownerKeys returns the index keys for the owners of an object: those that are
// maintained, and that of its type.
func (c *Change) ownerKeys() map[string][]schema.OwnerPath {
	keys := c.index.OwnerKeys()
	if paths := c.Type.OwnerPaths(); paths != nil && keys[c.Type.OwnerField().Term] == nil {
		if keys == nil {
			keys = map[string][]schema.OwnerPath{}
		}
		keys[c.Type.OwnerField().Term] = paths
	}
	return keys
}

// moves reports whether a change may give the object other owners, or terms that it
// lacks.
func (c *Change) moves() bool {
	keys := c.ownerKeys()
	if len(keys) == 0 || c.After == nil || len(c.faults) > 0 || c.failed != nil {
		return false
	}
	if c.stored == nil {
		return true
	}
	for key, paths := range keys {
		if c.index.FillsTerms(key) {
			return true
		}
		for _, path := range paths {
			if len(path.Hops) > 0 && !document.Equal(c.Before[path.Hops[0].Property], c.After[path.Hops[0].Property]) {
				return true
			}
		}
	}
	return false
}

// setOwners notes the owners of an object, and the difference to the stored terms.
func (c *Change) setOwners(maintained map[string][]schema.OwnerPath, held, wanted []store.Term) {
	c.owners = map[string][]string{}
	for _, term := range wanted {
		c.owners[term.Key] = append(c.owners[term.Key], term.Value)
	}
	add, drop := catalog.DiffOwners(maintained, held, wanted)
	if len(add)+len(drop) == 0 {
		return
	}
	if !c.changed {
		c.changed, c.derived, c.fields = true, c.stored != nil, []byte("[]")
	}
	c.addTerms, c.dropTerms = append(c.addTerms, add...), append(c.dropTerms, drop...)
}

// terms returns the terms that the stored ones of some objects have, and those that all of
// them should have.
func (o *owning) terms(objects []catalog.Owned, stored []store.Key) (held, wanted map[store.Key][]store.Term, err error) {
	if wanted, err = catalog.OwnerTerms(o.keys, objects, o.read); err != nil || len(stored) == 0 {
		return nil, wanted, err
	}
	held, err = o.w.tx.OrderedTerms(o.w.ctx, o.name, stored)
	return held, wanted, err
}

// read reads objects of any type as the transaction leaves them.
func (o *owning) read(name, network string, ids []string, yield func(catalog.Owned)) error {
	var stored []string
	for _, id := range ids {
		if c := o.w.byKey[objectKey{name, network, id}]; c != nil && c.After != nil {
			yield(catalog.OwnedObject(store.Key{Network: network, ID: id}, c.After))
		} else {
			stored = append(stored, id)
		}
	}
	if len(stored) == 0 {
		return nil
	}
	return catalog.ReadStored(o.w.ctx, o.w.tx)(name, network, stored, yield)
}

// moved are objects that belong to changed ones: those of a type that have terms under
// a key.
type moved struct{ name, key, network, target string }

// moveOwned gives the objects that belong to changed ones other owners.
func (w *Writing) moveOwned(changed []*Change) error {
	changed = slices.DeleteFunc(slices.Clone(changed), func(c *Change) bool { return c.Created() || c.derived || !c.refersElsewhere() })
	if len(changed) == 0 {
		return nil
	}
	indexings, err := w.e.allIndexings(w.ctx, w.tx)
	if err != nil {
		return err
	}
	all, order := map[moved][]string{}, []moved{}
	for _, c := range changed {
		for _, name := range slices.Sorted(maps.Keys(indexings)) {
			for key, paths := range indexings[name].OwnerKeys() {
				if !c.carries(paths) {
					continue
				}
				m := moved{name, key, c.Network, c.Type.Name}
				if all[m] == nil {
					order = append(order, m)
				}
				all[m] = append(all[m], c.ID)
			}
		}
	}
	for _, m := range order {
		if err := w.moveAll(m, indexings[m.name], all[m]); err != nil {
			return err
		}
	}
	return w.putFollowUps()
}

// refersElsewhere reports whether a change alters a top-level reference, or a list of
// references.
func (c *Change) refersElsewhere() bool {
	for name, shape := range c.Type.Shape.Properties {
		if shape.Element != nil {
			shape = shape.Element
		}
		if shape.Ref != nil && !document.Equal(c.Before[name], c.After[name]) {
			return true
		}
	}
	return false
}

// carries reports whether a change alters a step of paths that lead through the object.
func (c *Change) carries(paths []schema.OwnerPath) bool {
	for _, path := range paths {
		for n := 1; n < len(path.Hops); n++ {
			property := path.Hops[n].Property
			if path.Hops[n-1].Type == c.Type.Name && !document.Equal(c.Before[property], c.After[property]) {
				return true
			}
		}
	}
	return false
}

// ownersAtOnce is the number of objects whose owners are computed together.
const ownersAtOnce = 50

// moveAll computes the owners of the objects that belong to some others, as many as there
// is room for, and leaves the rest to the queue.
func (w *Writing) moveAll(m moved, n *catalog.Indexing, targets []string) error {
	of := owning{w, m.name, n.OwnerKeys()}
	for some := range slices.Chunk(targets, ownersAtOnce) {
		values := make([]any, len(some))
		for i, id := range some {
			values[i] = schema.ViaValue(m.target, id)
		}
		q := query.Query{Collection: m.name, Network: m.network, Where: catalog.ByOwner(m.key, values)}
		found, all, err := findDependants(w.ctx, w.tx, q, following{w.leftOwned + 1, MaxFollowingBytes})
		if err != nil {
			return err
		}
		behind := !all || len(found) > w.leftOwned
		if behind {
			w.leftOwned = 0
		} else {
			w.leftOwned -= len(found)
			if err := of.again(m.network, found); err != nil {
				return err
			}
		}
		w.followUps.addAll(m.target, m.network, some, dependence{Type: m.name, Property: m.key}, behind)
	}
	return nil
}

// again computes the owners of stored objects of a network again.
func (o *owning) again(network string, found []dependant) error {
	for some := range slices.Chunk(found, ownersAtOnce) {
		keys := make([]store.Key, len(some))
		for i, d := range some {
			keys[i] = store.Key{Network: network, ID: d.ID}
		}
		var records []*store.Record
		var objects []catalog.Owned
		err := o.w.tx.Get(o.w.ctx, o.name, keys, func(r *store.Record) error {
			kept := r.Clone()
			records, objects = append(records, kept), append(objects, catalog.OwnedRecord(kept))
			return nil
		})
		if err != nil {
			return err
		}
		held, wanted, err := o.terms(objects, keys)
		if err != nil {
			return err
		}
		if err := o.put(records, held, wanted); err != nil {
			return err
		}
	}
	return nil
}

// put stores the terms of records that differ.
func (o *owning) put(records []*store.Record, held, wanted map[store.Key][]store.Term) error {
	w := o.w
	var writes []store.Write
	var changes []store.Change
	for _, r := range records {
		add, drop := catalog.DiffOwners(o.keys, held[r.Key], wanted[r.Key])
		if len(add)+len(drop) == 0 {
			continue
		}
		write, change := catalog.OwnerWrite(o.name, r, add, drop)
		change.Time, change.User, change.Cause = w.now, w.caller.User, catalog.Moved(o.keys, held[r.Key], wanted[r.Key])
		writes, changes = append(writes, write), append(changes, change)
		if c := w.byKey[objectKey{o.name, r.Network, r.ID}]; c != nil {
			c.record.Revision = write.Revision
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if err := w.tx.Put(w.ctx, o.name, writes); err != nil {
		return err
	}
	return w.tx.Append(w.ctx, changes)
}
