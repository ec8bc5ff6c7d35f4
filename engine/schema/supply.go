package schema

import (
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
)

// supplied is a top-level property that new objects get from the service.
type supplied struct {
	name  string
	shape *document.Shape
	by    *keyword.Keyword
}

// supplies returns the properties that new objects of the type get from the service.
func (t *Type) supplies() (list []supplied) {
	for _, name := range slices.Sorted(maps.Keys(t.Shape.Properties)) {
		for _, k := range keyword.OfValues() {
			if shape := t.Shape.Properties[name]; k.Supply != nil && k.Has(shape) {
				list = append(list, supplied{name, shape, k})
			}
		}
	}
	return list
}

// Supply sets the properties of a new object that it lacks and the service supplies, and
// returns their names.
func (t *Type) Supply(object map[string]any, c *keyword.Creation) (names []string) {
	for _, s := range t.supplied {
		if _, set := object[s.name]; set {
			continue
		}
		c.Property = s.name
		if value := s.by.Supply(s.shape, c); value != nil {
			object[s.name] = value
			names = append(names, s.name)
		}
	}
	return names
}

// Sequences returns the sequences of the type by their properties.
func (t *Type) Sequences() map[string]keyword.Sequence { return t.sequences }

func (t *Type) findSequences() map[string]keyword.Sequence {
	found := map[string]keyword.Sequence{}
	for _, s := range t.supplied {
		if sequence, is := keyword.SequenceOf(s.shape); is {
			found[s.name] = sequence
		}
	}
	return found
}
