package read

import (
	"context"
	"maps"
	"slices"
	"strings"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// seenTypes are the types of which a caller sees some objects. A caller of scope TEAM
// sees a part of the objects of a type that has a team, and only their changes.
type seenTypes struct {
	// whole lists the types of which the caller sees every object, and parts holds what
	// the objects of the others must meet.
	whole []string
	parts map[string]query.Expr
	// removable are the types of parts whose objects can be removed.
	removable map[string]*schema.Type
}

// seenTypes returns the types whose changes the caller may see in the view's network.
func (v changesView) seenTypes(ctx context.Context, s store.Snapshot) (seenTypes, error) {
	return v.typesBy(func(t *schema.Type) (query.Expr, error) {
		return v.sight.Visible(ctx, s, v.e.access, v.caller, t, v.network)
	})
}

// typesBy returns the types of which the caller sees objects by a condition for each.
func (v changesView) typesBy(visibleOf func(*schema.Type) (query.Expr, error)) (seenTypes, error) {
	seen := seenTypes{whole: []string{}, parts: map[string]query.Expr{}, removable: map[string]*schema.Type{}}
	for _, t := range v.registry.Types() {
		visible, err := visibleOf(t)
		switch {
		case err != nil:
			return seen, err
		case query.IsNone(visible):
		case query.IsAll(visible), t.Global: // the history of a network has no changes of global types
			seen.whole = append(seen.whole, t.Name)
		default:
			seen.parts[t.Name] = visible
			if t.Removable() {
				seen.removable[t.Name] = t
			}
		}
	}
	return seen, nil
}

// all lists the types, those of which the caller sees a part included.
func (t seenTypes) all() []string {
	return append(slices.Clone(t.whole), slices.Sorted(maps.Keys(t.parts))...)
}

// changed is an object, by its type.
type changed struct{ collection, id string }

// among returns the objects that the caller sees.
func (t seenTypes) among(ctx context.Context, s store.Snapshot, network string, changes []changed) (map[changed]bool, error) {
	seen, ids := map[changed]bool{}, map[string][]string{}
	for _, c := range changes {
		if t.parts[c.collection] == nil {
			seen[c] = true
		} else {
			ids[c.collection] = append(ids[c.collection], c.id)
		}
	}
	for name, some := range ids {
		slices.Sort(some)
		err := access.GetVisible(ctx, s, store.Place{Collection: name, Network: network}, slices.Compact(some), t.parts[name], func(r *store.Record) error {
			seen[changed{name, strings.Clone(r.ID)}] = true
			return nil
		})
		if err == nil {
			err = t.addRemoved(ctx, s, network, name, some, seen)
		}
		if err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// addRemoved adds the removed objects among those that are not seen, if the caller saw
// them when they were removed.
func (t seenTypes) addRemoved(ctx context.Context, s store.Snapshot, network, name string, ids []string, seen map[changed]bool) error {
	of := t.removable[name]
	if of == nil {
		return nil
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return seen[changed{name, id}] })
	removed, err := catalog.ReadRemoved(ctx, s, name, store.KeysIn(network, slices.Compact(ids)))
	for key, tombstone := range removed {
		if access.Saw(t.parts[name], of, key.ID, tombstone) {
			seen[changed{name, key.ID}] = true
		}
	}
	return err
}

// checkedAtOnce is the number of changes of which is decided together whether the caller
// sees them.
const checkedAtOnce = 500

// seenChanges finds the changes, or the notices, that a caller sees.
type seenChanges struct {
	types   seenTypes
	network string
	// read yields up to limit of them, newest first, as they are stored; seek makes it
	// go on after one.
	read func(limit int, yield func(*store.Change) error) error
	seek func(*store.Change)
}

// find yields up to limit changes after skipping some. It reads them twice, so that
// those that are hidden take no memory.
func (f seenChanges) find(ctx context.Context, s store.Snapshot, skip, limit int, yield func(*store.Change) error) error {
	for limit > 0 {
		var some []changed
		var last *store.Change
		if err := f.read(checkedAtOnce, func(c *store.Change) error {
			some, last = append(some, changed{strings.Clone(c.Collection), strings.Clone(c.ID)}), c
			return nil
		}); err != nil {
			return err
		}
		seen, err := f.types.among(ctx, s, f.network, some)
		if err != nil {
			return err
		}
		if len(seen) > 0 {
			err = f.read(len(some), func(c *store.Change) error {
				switch {
				case limit == 0 || !seen[changed{c.Collection, c.ID}]:
					return nil
				case skip > 0:
					skip--
					return nil
				}
				limit--
				return yield(c)
			})
		}
		if err != nil || len(some) < checkedAtOnce {
			return err
		}
		f.seek(last)
	}
	return nil
}

// countHistory returns the number of changes that the caller sees. It takes time in
// proportion to the objects that the caller sees.
func (t seenTypes) countHistory(ctx context.Context, s store.Snapshot, q store.HistoryQuery) (total int64, err error) {
	add := func(q store.HistoryQuery) error {
		n, err := s.HistoryCount(ctx, q)
		total += n
		return err
	}
	whole := q
	whole.Collections = t.whole
	if err := add(whole); err != nil {
		return 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.parts)) {
		if q.Collection != "" && q.Collection != name {
			continue
		}
		part := store.HistoryQuery{Network: q.Network, Collection: name}
		objects := query.Query{Collection: name, Network: q.Network, Where: t.parts[name], Order: store.OldestFirst}
		note := func(id string) error {
			if part.IDs = append(part.IDs, strings.Clone(id)); len(part.IDs) < store.FindPage {
				return nil
			}
			defer func() { part.IDs = part.IDs[:0] }()
			return add(part)
		}
		err := store.FindAll(ctx, s, objects, 0, func(r *store.Record) error { return note(r.ID) })
		if of := t.removable[name]; err == nil && of != nil {
			err = catalog.EachRemoved(ctx, s, store.Place{Collection: name, Network: q.Network}, func(id string, tombstone *catalog.Tombstone) error {
				if !access.Saw(t.parts[name], of, id, tombstone) {
					return nil
				}
				return note(id)
			})
		}
		if err == nil && len(part.IDs) > 0 {
			err = add(part)
		}
		if err != nil {
			return 0, err
		}
	}
	return total, nil
}
