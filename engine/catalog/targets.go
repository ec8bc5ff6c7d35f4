package catalog

import (
	"context"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Referred is an object that another one refers to.
type Referred struct {
	store.Place
	ID string
}

// targetSet are the ids that an object refers to, by the type.
type targetSet map[schema.Target]map[string]bool

// TargetKeys returns the keys of references that writes maintain, with the types whose
// objects they name.
func (n *Indexing) TargetKeys() map[string]schema.Target {
	if len(n.Targets) == 0 {
		return nil
	}
	keys := maps.Clone(n.Targets)
	maps.DeleteFunc(keys, func(key string, _ schema.Target) bool { return !n.maintains(key) })
	return keys
}

// targetsOf returns what a document refers to, of the types that the keys name.
func targetsOf(keys map[string]schema.Target, shape *document.Shape, object map[string]any) targetSet {
	set := targetSet{}
	if object == nil {
		return set
	}
	types := make(map[string]schema.Target, len(keys))
	for _, target := range keys {
		types[target.Type] = target
	}
	shape.References(object, func(_ document.Pointer, ref *document.Reference, id, _ string) {
		target, removable := types[ref.Type]
		if !removable || id == "" || ref.Network != "" {
			return
		}
		if set[target] == nil {
			set[target] = map[string]bool{}
		}
		set[target][id] = true
	})
	return set
}

// DiffTargets returns the terms of references to add to a record in a network, and to drop
// from it, and the objects that it newly refers to, of the types that can be removed. The
// references are those of a shape.
//
// The terms do not depend on the schema that a server has: a place that the shape does not
// have is the same in both documents.
func (n *Indexing) DiffTargets(shape *document.Shape, network string, after, before map[string]any) (add, drop []store.Term, gained []Referred) {
	keys := n.TargetKeys()
	if len(keys) == 0 {
		return nil, nil, nil
	}
	now, was := targetsOf(keys, shape, after), targetsOf(keys, shape, before)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		target := keys[key]
		for id := range now[target] {
			if !was[target][id] || n.FillsTerms(key) {
				add = append(add, store.Term{Key: key, Value: id})
			}
		}
		for id := range was[target] {
			if !now[target][id] {
				drop = append(drop, store.Term{Key: key, Value: id})
			}
		}
	}
	for target, ids := range now {
		for id := range ids {
			if !was[target][id] {
				gained = append(gained, Referred{PlaceOf(target, network), id})
			}
		}
	}
	return add, drop, gained
}

// PlaceOf returns where the objects are kept that objects of a network refer to.
func PlaceOf(target schema.Target, network string) store.Place {
	if target.Global {
		network = ""
	}
	return store.Place{Collection: target.Type, Network: network}
}

// Missing returns those of some objects that do not exist.
func Missing(ctx context.Context, s store.Snapshot, referred []Referred) (missing []Referred, err error) {
	ids := map[store.Place][]string{}
	for _, r := range referred {
		ids[r.Place] = append(ids[r.Place], r.ID)
	}
	var queries []store.LabelQuery
	for place, some := range ids {
		slices.Sort(some)
		queries = append(queries, store.LabelQuery{Collection: place.Collection, Keys: store.KeysIn(place.Network, slices.Compact(some))})
	}
	results, err := s.Labels(ctx, queries...)
	if err != nil {
		return nil, err
	}
	there := map[Referred]bool{}
	for i, found := range results {
		for key := range found {
			there[Referred{store.Place{Collection: queries[i].Collection, Network: key.Network}, key.ID}] = true
		}
	}
	for _, r := range referred {
		if !there[r] {
			missing = append(missing, r)
		}
	}
	return missing, nil
}

// ByTarget returns the condition that objects refer to one with an id, under a key of
// references.
func ByTarget(key, id string) query.Expr { return ByOwner(key, []any{id}) }
