package diff

import (
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema"
)

// Concerned returns the sorted names of the types whose stored objects a change of the set can
// concern: those that only one of the sets has, or whose schemas say something else, and those
// with references to objects that belonged to a network and belong to the service, or the
// other way round.
func Concerned(old, new *schema.Registry) []string {
	before, after := newSide(old), newSide(new)
	moved := map[string]bool{}
	var names []string
	for _, t := range old.Types() {
		next, there := new.Type(t.Name)
		if !there || before.digest(before.root(t)) == "" || before.digest(before.root(t)) != after.digest(after.root(next)) {
			names = append(names, t.Name)
		}
		moved[t.Name] = there && next.Global != t.Global
	}
	for _, t := range new.Types() {
		if _, there := old.Type(t.Name); !there || refersTo(t.Shape, moved) {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refersTo reports whether values of a shape can refer to objects of some types.
func refersTo(shape *document.Shape, types map[string]bool) bool {
	for inner := range shape.All() {
		if inner.Ref != nil && types[inner.Ref.Type] {
			return true
		}
	}
	return false
}
