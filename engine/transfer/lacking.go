package transfer

import (
	"cmp"
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// lacking finds the objects that cannot be imported into another store because an
// export omits files: those that directly or indirectly refer to an object with
// files.
type lacking struct {
	// types are the types that can have such objects.
	types map[string]bool
	found map[string]bool
}

func (w *writer) newLacking() lacking {
	l := lacking{types: map[string]bool{}, found: map[string]bool{}}
	for _, t := range w.Types {
		l.types[t.Name] = w.Folder == nil && w.Files[t.Name] != nil
	}
	for grown := true; grown; {
		grown = false
		for _, t := range w.Types {
			if !l.types[t.Name] && slices.ContainsFunc(targets(t), func(name string) bool { return l.types[name] }) {
				l.types[t.Name], grown = true, true
			}
		}
	}
	return l
}

// refers reports whether an object without files refers to one with files or to
// another such object. The objects that it can refer to are exported before it.
func (w *writer) refers(t *schema.Type, r *store.Record, object map[string]any) bool {
	if !w.lacking.types[t.Name] || w.Files[t.Name] != nil {
		return false
	}
	lacks := false
	t.Shape.References(object, func(_ document.Pointer, ref *document.Reference, id, network string) {
		of := item{id: id, network: cmp.Or(network, r.Network)}
		if of.t, _ = w.Engine.Registry().Type(ref.Type); of.t == nil {
			return
		}
		lacks = lacks || w.lacking.types[ref.Type] && w.Files[ref.Type] != nil || w.lacking.found[of.key()]
	})
	if lacks {
		own := item{t: t, network: r.Network, id: r.ID}
		w.lacking.found[own.key()] = true
	}
	return lacks
}
