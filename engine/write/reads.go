package write

import (
	"cmp"
	"maps"
	"slices"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/written"
)

// maxReads is the number of records that a call announces to the store at most.
const maxReads = 200

// maxLabelBytes is the size of a name that is kept for the answer. Longer ones are
// read again.
const maxLabelBytes = 1 << 10

// reads returns the records that the transaction of a short call will probably read:
// what its objects are indexed by, the objects, what they and their answer refer to, and, unless
// transactions run one after another, what keeps that from being removed.
func reads(changes []*Change, user string, registry *schema.Registry, serial bool, lane int) []store.Lookup {
	if len(changes) > shortBatch {
		return nil
	}
	keys := map[string][]store.Key{}
	n := 0
	add := func(collection string, key store.Key) {
		if n < maxReads && !slices.Contains(keys[collection], key) {
			keys[collection] = append(keys[collection], key)
			n++
		}
	}
	for _, c := range changes {
		add(catalog.TypeCollection, store.Key{ID: c.Type.Name})
		if c.mayExist() {
			add(c.Type.Name, c.recordKey())
			if c.Type.Removable() {
				add(catalog.Removed.Name, catalog.RemovedKey(c.Type.Name, c.recordKey()))
			}
		}
	}
	for _, c := range changes {
		if c.Network != "" {
			add("networks", store.Key{ID: c.Network})
		}
		if user != "" {
			add("users", store.Key{ID: user})
		}
		c.Type.Shape.References(c.Patch, func(_ document.Pointer, ref *document.Reference, id, network string) {
			if target, served := registry.Type(ref.Type); served && id != "" {
				key := store.Key{Network: target.NetworkOf(cmp.Or(network, c.Context)), ID: id}
				add(ref.Type, key)
				if !serial && target.Removable() {
					add(catalog.ReferenceLocks.Name, catalog.Referred{Place: store.Place{Collection: ref.Type, Network: key.Network}, ID: id}.LaneKey(lane))
				}
			}
		})
	}
	reads := make([]store.Lookup, 0, len(keys))
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		reads = append(reads, store.Lookup{Collection: name, Keys: keys[name]})
	}
	return reads
}

// noteAhead keeps what the answer may show of the objects that the store has read without
// being asked for them.
func (w *Writing) noteAhead() error {
	read, ok := w.tx.(store.Ahead)
	if !ok || w.targets != nil {
		return nil
	}
	return read.ReadAhead(func(collection string, r *store.Record) error {
		if t, served := w.registry.Type(collection); served {
			w.noteTarget(t, r)
		}
		return nil
	})
}

// noteTarget keeps what the answer of a short call may show of a referenced object.
func (w *Writing) noteTarget(t *schema.Type, r *store.Record) {
	if len(w.prepared) > shortBatch || len(w.targets) == maxReads {
		return
	}
	target := written.Target{Label: document.MemberText(r.Document, t.Label), Parent: document.MemberText(r.Document, t.Parent)}
	if len(target.Label) > maxLabelBytes {
		return
	}
	if w.targets == nil {
		w.targets = map[written.Key]written.Target{}
	}
	w.targets[written.Key{Collection: t.Name, Network: r.Network, ID: r.ID}] = target
}
