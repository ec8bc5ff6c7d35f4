package transfer

import (
	"context"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// companionMember is the member of an envelope that marks an object of a global
// type as a companion of a network. It is imported only if its id is not taken,
// and its references to that network become references to the one that is
// imported into.
const companionMember = "companionOf"

// eachNetwork replaces the references to networks in a value. If replace rejects
// one, the array item that contains it is removed; ok is false if there is no such
// array.
func eachNetwork(s *document.Shape, value any, replace func(id string) (string, bool)) (_ any, ok bool) {
	switch v := value.(type) {
	case string:
		if s.Ref != nil && s.Ref.Type == networks {
			return replace(v)
		}
	case []any:
		kept := make([]any, 0, len(v))
		for i, item := range v {
			if inner := s.Item(i); inner != nil {
				if item, ok = eachNetwork(inner, item, replace); !ok {
					continue
				}
			}
			kept = append(kept, item)
		}
		return kept, true
	case map[string]any:
		if id, named := v["id"].(string); named && s.Ref != nil && s.Ref.Type == networks {
			return replace(id)
		}
		for name, member := range v {
			inner := s.Member(name)
			if inner == nil {
				continue
			}
			if v[name], ok = eachNetwork(inner, member, replace); !ok {
				return nil, false
			}
		}
	}
	return value, true
}

// eachNetworkOf does the same for the properties of an object. It removes a
// property if replace rejects a reference outside of arrays.
func eachNetworkOf(t *schema.Type, object map[string]any, replace func(id string) (string, bool)) {
	for name, value := range object {
		member := t.Shape.Member(name)
		if member == nil {
			continue
		}
		replaced, ok := eachNetwork(member, value, replace)
		if object[name] = replaced; !ok {
			delete(object, name)
		}
	}
}

// companions finds the objects of global types that a network needs.
type companions struct {
	w *writer
	// of are the types by name, found the ids of their objects, and open the ids
	// of objects whose references have not been followed yet.
	of          map[string]*schema.Type
	found, open map[string]map[string]bool
}

// gather finds the network itself, the objects that refer to it, and those to
// which its objects or other companions refer.
func (w *writer) gather(ctx context.Context) (map[string]map[string]bool, error) {
	if len(w.Companions) == 0 {
		return nil, nil
	}
	c := companions{w: w, of: map[string]*schema.Type{}, found: map[string]map[string]bool{}, open: map[string]map[string]bool{}}
	for _, t := range w.Companions {
		c.of[t.Name], c.found[t.Name] = t, map[string]bool{}
	}
	c.add(networks, w.Context)
	for _, t := range w.Types {
		if err := c.scan(ctx, t); err != nil {
			return nil, err
		}
	}
	for len(c.open) > 0 {
		if err := c.follow(ctx); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

func (c *companions) add(name, id string) {
	if c.of[name] == nil || c.found[name][id] {
		return
	}
	c.found[name][id] = true
	if c.open[name] == nil {
		c.open[name] = map[string]bool{}
	}
	c.open[name][id] = true
}

// scan finds the objects to which the network's objects of a type refer or, for a
// global type, the objects that refer to the network.
func (c *companions) scan(ctx context.Context, t *schema.Type) error {
	refers := func(name string) bool { return c.of[name] != nil && name != networks }
	if t.Global {
		refers = func(name string) bool { return name == networks }
	}
	if !slices.ContainsFunc(targets(t), refers) || t.Global && c.of[t.Name] == nil {
		return nil
	}
	return c.w.scan(ctx, t, func(r *store.Record) error {
		object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if err != nil {
			return err
		}
		t.Shape.References(object, func(_ document.Pointer, ref *document.Reference, id, _ string) {
			switch {
			case !t.Global:
				c.add(ref.Type, id)
			case ref.Type == networks && id == c.w.Context:
				c.add(t.Name, r.ID)
			}
		})
		return nil
	}, nil)
}

// follow adds the objects to which the most recently found ones refer.
func (c *companions) follow(ctx context.Context) error {
	open := c.open
	c.open = map[string]map[string]bool{}
	for name, ids := range open {
		t, keys := c.of[name], make([]store.Key, 0, len(ids))
		for id := range maps.Keys(ids) {
			keys = append(keys, store.Key{ID: id})
		}
		for part := range slices.Chunk(keys, page) {
			err := c.w.snapshot.Get(ctx, name, part, func(r *store.Record) error {
				object, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
				if err != nil {
					return err
				}
				c.w.withoutOtherNetworks(t, object)
				t.Shape.References(object, func(_ document.Pointer, ref *document.Reference, id, _ string) { c.add(ref.Type, id) })
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutOtherNetworks removes references to other networks from a companion.
func (w *writer) withoutOtherNetworks(t *schema.Type, object map[string]any) {
	eachNetworkOf(t, object, func(id string) (string, bool) { return id, id == w.Context })
}

// moveCompanion converts a companion of one network to a companion of the network that
// is imported into.
func moveCompanion(t *schema.Type, object map[string]any, from, into string) {
	if from == into {
		return
	}
	if id, _ := object["id"].(string); t.Name == networks && id == from {
		object["id"] = into
	}
	eachNetworkOf(t, object, func(id string) (string, bool) {
		if id == from {
			id = into
		}
		return id, true
	})
}

// withoutStored removes companions that are stored already from the items.
func (r *Importer) withoutStored(ctx context.Context, items []item) ([]item, error) {
	var companions []item
	for _, it := range items {
		if it.companion {
			companions = append(companions, it)
		}
	}
	if len(companions) == 0 {
		return items, nil
	}
	there, err := r.stored(ctx, companions)
	if err != nil {
		return nil, writeError(items, err)
	}
	rest := make([]item, 0, len(items))
	for _, it := range items {
		if it.companion && there[it.key()] {
			r.state.Objects++
			r.state.Accepted++
			continue
		}
		rest = append(rest, it)
	}
	return rest, nil
}
