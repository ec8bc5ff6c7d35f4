package read

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"marquee/engine/access"
	"marquee/engine/store"
	"marquee/engine/written"
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
	// parents are the parents in the paths of referenced objects that are visible.
	parents map[referenceKey]string
	// targets are referenced objects that were read before.
	targets map[written.Key]written.Target
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

// resolve reads the names of the objects that are visible, and the parents in their
// paths, together. What was read before is not read again.
func (v *view) resolve(ctx context.Context, s store.Snapshot) error {
	places := slices.SortedFunc(maps.Keys(v.wanted), func(a, b store.Place) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Network, b.Network))
	})
	var names, parents []store.LabelQuery
	for _, where := range places {
		target, _ := v.registry.Type(where.Collection)
		ids := slices.Collect(maps.Keys(v.wanted[where]))
		visible, err := v.visible(ctx, s, target, cmp.Or(where.Network, v.network))
		if err != nil {
			return err
		}
		if len(ids) > namesAtOnce {
			slices.Sort(ids) // so that always the same ones have names
		}
		certain, uncertain := access.DecideByID(ids, visible)
		read := func(property string, take func(referenceKey, written.Target)) (queries []store.LabelQuery) {
			if property == "" {
				return nil
			}
			if unread := v.takeTargets(where, certain, take); len(unread) > 0 {
				queries = append(queries, store.LabelQuery{Collection: where.Collection, Property: property, Keys: store.KeysIn(where.Network, unread)})
			}
			if len(uncertain) > 0 {
				queries = append(queries, store.LabelQuery{Collection: where.Collection, Property: property, Keys: store.KeysIn(where.Network, uncertain), Where: visible})
			}
			return queries
		}
		parents = append(parents, read(target.Parent, func(of referenceKey, t written.Target) { v.parents[of] = t.Parent })...)
		names = append(names, read(target.Label, func(of referenceKey, t written.Target) { v.addLabel(of, t.Label) })...)
	}
	v.forgetWanted()
	return v.readLabels(ctx, s, names, parents)
}

// takeTargets calls use for those of the ids that were read before, and returns the
// others.
func (r *references) takeTargets(where store.Place, ids []string, use func(referenceKey, written.Target)) (unread []string) {
	if len(r.targets) == 0 {
		return ids
	}
	for _, id := range ids {
		if target, known := r.targets[written.Key{Collection: where.Collection, Network: where.Network, ID: id}]; known {
			use(referenceKey{where.Collection, where.Network, id}, target)
		} else {
			unread = append(unread, id)
		}
	}
	return unread
}

func (r *references) forgetWanted() {
	clear(r.wanted)
	r.wantedCount = 0
}

func (r *references) addLabel(of referenceKey, label string) {
	r.labels[of] = label
	r.labelBytes += len(label)
}

// readLabels reads the parents, and the names up to maxNameBytes.
func (v *view) readLabels(ctx context.Context, s store.Snapshot, names, parents []store.LabelQuery) error {
	for atOnce := namesAtOnce; len(names)+len(parents) > 0; {
		var some []store.LabelQuery
		if v.labelBytes <= maxNameBytes {
			some, names = takeKeys(names, atOnce)
		} else {
			names = nil
		}
		queries := slices.Concat(parents, some)
		results, err := s.Labels(ctx, append(queries, v.sight.Unconfirmed()...)...)
		if err != nil {
			return err
		}
		if err := v.sight.Confirm(results[len(queries):]); err != nil {
			return err
		}
		results = results[:len(queries)]
		before, read := v.labelBytes, 0
		for i, found := range results {
			for key, text := range found {
				of := referenceKey{queries[i].Collection, key.Network, key.ID}
				if i < len(parents) {
					v.parents[of] = text
				} else {
					v.addLabel(of, text)
					read++
				}
			}
		}
		parents = nil
		atOnce = max(1, maxNameBytes/max(1, (v.labelBytes-before)/max(1, read)))
	}
	return nil
}

// takeKeys splits queries: the first n keys, and the others.
func takeKeys(queries []store.LabelQuery, n int) (first, others []store.LabelQuery) {
	for i, q := range queries {
		if n == 0 {
			return first, queries[i:]
		}
		if len(q.Keys) > n {
			first, others = append(first, q), slices.Clone(queries[i:])
			first[i].Keys, others[0].Keys = q.Keys[:n], q.Keys[n:]
			return first, others
		}
		first = append(first, q)
		n -= len(q.Keys)
	}
	return first, nil
}

// forget prepares for other records and drops the names found so far if they are many.
func (r *references) forget() {
	r.forgetWanted()
	if len(r.labels)+len(r.parents) > maxNames || r.labelBytes > maxNameBytes {
		clear(r.labels)
		clear(r.parents)
		r.labelBytes = 0
	}
}

// addLabels sets the names and parents of stored objects, so that objects of a batch
// that refer to each other show the values that were written.
func (r *references) addLabels(objects []written.Object) {
	for _, o := range objects {
		key := referenceKey{o.Type.Name, o.Record.Network, o.Record.ID}
		if o.Label != "" {
			r.labels[key] = o.Label
		}
		if o.Parent != "" {
			r.parents[key] = o.Parent
		}
	}
}
