package read

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// referenceKey identifies a referenced object.
type referenceKey struct{ collection, network, id string }

// references are the referenced objects of the records that are rendered, with what
// is shown of them in the snapshot.
type references struct {
	// wanted are the ids whose names or paths are still to be read, wantedCount is
	// their number.
	wanted      map[store.Place]map[string]bool
	wantedCount int
	// labels are the names, labelBytes is their size.
	labels     map[referenceKey]string
	labelBytes int
	// parents are the parents in the paths of referenced objects.
	parents map[referenceKey]string
}

func newReferences() references {
	return references{wanted: map[store.Place]map[string]bool{}, labels: map[referenceKey]string{}, parents: map[referenceKey]string{}}
}

// want notes that a referenced object is shown, so that its name and path must be
// read.
func (v *view) want(ref, network, id string) {
	if target, ok := v.registry.Type(ref); ok && (target.Label != "" || target.Parent != "") && id != "" {
		where := store.Place{Collection: ref, Network: target.NetworkOf(network)}
		if v.wanted[where] == nil {
			v.wanted[where] = map[string]bool{}
		}
		if !v.wanted[where][id] {
			v.wanted[where][id] = true
			v.wantedCount++
		}
	}
}

// resolve reads the names, with one query for each type and network. Objects that are
// not visible have none.
func (v *view) resolve(ctx context.Context, s store.Snapshot) error {
	places := slices.SortedFunc(maps.Keys(v.wanted), func(a, b store.Place) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Network, b.Network))
	})
	for _, where := range places {
		ids := v.wanted[where]
		target, _ := v.registry.Type(where.Collection)
		if target.Label == "" {
			continue
		}
		if err := v.resolveNames(ctx, s, where, target, keysOf(ids)); err != nil {
			return err
		}
	}
	if err := v.resolveParents(ctx, s); err != nil {
		return err
	}
	v.forgetWanted()
	return nil
}

func (v *view) forgetWanted() {
	clear(v.wanted)
	v.wantedCount = 0
}

// resolveNames reads the names of objects of a type, up to maxNameBytes.
func (v *view) resolveNames(ctx context.Context, s store.Snapshot, where store.Place, target *schema.Type, ids []string) error {
	if len(ids) > namesAtOnce {
		slices.Sort(ids) // so that always the same ones have names
	}
	visible, err := v.visible(ctx, s, target, cmp.Or(where.Network, v.network))
	if err != nil {
		return err
	}
	found := func(id, label string) {
		v.labels[referenceKey{where.Collection, where.Network, id}] = label
		v.labelBytes += len(label)
	}
	for atOnce := namesAtOnce; len(ids) > 0 && v.labelBytes <= maxNameBytes; {
		some := ids[:min(atOnce, len(ids))]
		ids = ids[len(some):]
		before := v.labelBytes
		certain, open := access.DecideByID(some, visible)
		err := access.FindVisible(ctx, s, where, open, visible, func(r *store.Record) error {
			found(r.ID, document.MemberText(r.Document, target.Label))
			return nil
		})
		if err != nil {
			return err
		}
		if len(certain) > 0 {
			labels, err := s.Labels(ctx, where.Collection, target.Label, store.KeysIn(where.Network, certain))
			if err != nil {
				return err
			}
			for key, label := range labels {
				found(key.ID, label)
			}
		}
		atOnce = max(1, maxNameBytes/max(1, (v.labelBytes-before)/len(some)))
	}
	return nil
}

// resolveParents reads the parents in the paths of referenced objects, whether visible
// or not.
func (v *view) resolveParents(ctx context.Context, s store.Snapshot) error {
	for where, ids := range v.wanted {
		target, _ := v.registry.Type(where.Collection)
		if target.Parent == "" {
			continue
		}
		parents, err := s.Labels(ctx, where.Collection, target.Parent, store.KeysIn(where.Network, keysOf(ids)))
		if err != nil {
			return err
		}
		for key, parent := range parents {
			v.parents[referenceKey{where.Collection, key.Network, key.ID}] = parent
		}
	}
	return nil
}

func keysOf(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	return keys
}
