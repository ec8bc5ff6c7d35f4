package write

import (
	"maps"
	"slices"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/store"
)

// loadRemoved reads what is kept of removed objects whose ids new ones have. An id that
// the service has generated is that of none.
func (w *Writing) loadRemoved(changes []*Change) error {
	keys, of := map[string][]store.Key{}, map[objectKey]*Change{}
	for _, c := range changes {
		if c.stored == nil && c.index.Removable && c.ID != "" && !c.generated {
			keys[c.Type.Name] = append(keys[c.Type.Name], store.Key{Network: c.Network, ID: c.ID})
			of[c.key()] = c
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		found, err := catalog.ReadRemoved(w.ctx, w.tx, name, keys[name])
		if err != nil {
			return err
		}
		for key, tombstone := range found {
			of[objectKey{name, key.Network, key.ID}].tombstone = tombstone
		}
	}
	return nil
}

// authorizeRemoved refuses to create objects with the ids of removed ones that the caller
// did not see, as it refuses to change objects that the caller does not see: the history
// of such an object would become that of the new one.
func (w *Writing) authorizeRemoved(s store.Snapshot, changes []*Change) error {
	for _, c := range changes {
		if c.tombstone == nil {
			continue
		}
		visible, err := w.visible(w.ctx, s, c.Type, w.batch.Network)
		if err != nil {
			return err
		}
		if !access.Saw(visible, c.Type, c.ID, c.tombstone) {
			return c.missing()
		}
	}
	return nil
}

// dropRemoved drops what was kept of removed objects that have been created again.
func (w *Writing) dropRemoved(changed []*Change) error {
	var keys []store.Key
	for _, c := range changed {
		if c.tombstone != nil {
			keys = append(keys, catalog.RemovedKey(c.Type.Name, store.Key{Network: c.Network, ID: c.ID}))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return w.tx.Drop(w.ctx, catalog.Removed.Name, keys)
}

// lockTargets makes the transaction conflict with the removals of objects that changes
// newly refer to.
func (w *Writing) lockTargets(changed []*Change) error {
	var gained []catalog.Referred
	for _, c := range changed {
		gained = append(gained, c.gained...)
	}
	return w.e.LockReferences(w.ctx, w.tx, gained)
}
