package keyword

import (
	"maps"
	"slices"

	"marquee/engine/document"
)

// way leads from the root of a type to the objects of one shape within its values.
type way struct {
	from, to *document.Shape
	// through are the shapes with values that can have such an object within them.
	through map[*document.Shape]bool
}

// wayTo returns the way to the objects of a shape.
func wayTo(from, to *document.Shape) *way {
	w := &way{from: from, to: to, through: map[*document.Shape]bool{}}
	all := map[*document.Shape]bool{}
	var collect func(*document.Shape) bool
	collect = func(shape *document.Shape) bool {
		if !all[shape] && shape.Ref == nil {
			all[shape] = true
			shape.Children(collect)
		}
		return false
	}
	collect(from)
	for changed := true; changed; {
		changed = false
		for shape := range all {
			if !w.through[shape] && shape.Children(func(child *document.Shape) bool { return child == to || w.through[child] }) {
				w.through[shape], changed = true, true
			}
		}
	}
	return w
}

// leads reports whether a value of a shape is such an object, or can have one within it.
func (w *way) leads(shape *document.Shape) bool {
	return shape != nil && (shape == w.to || w.through[shape])
}

// describe returns the first place of the objects, such as items[].price, and whether any
// place is within an array.
func (w *way) describe(root *document.Shape) (place string, items bool) {
	type visit struct {
		shape  *document.Shape
		within bool
	}
	seen := map[visit]bool{}
	var walk func(shape *document.Shape, at string, within bool)
	next := func(shape *document.Shape, at string, within bool) {
		if !w.leads(shape) {
			return
		}
		if shape == w.to {
			if items = items || within; place == "" {
				place = at
			}
		}
		if !seen[visit{shape, within}] {
			seen[visit{shape, within}] = true
			walk(shape, at, within)
		}
	}
	walk = func(shape *document.Shape, at string, within bool) {
		for _, name := range slices.Sorted(maps.Keys(shape.Properties)) {
			inner := name
			if at != "" {
				inner = at + "." + name
			}
			next(shape.Properties[name], inner, within)
		}
		for _, other := range append(slices.Clone(shape.Matching), shape.Extra) {
			next(other, at+".*", within)
		}
		for _, item := range append(slices.Clone(shape.Prefix), shape.Items) {
			next(item, at+"[]", true)
		}
	}
	walk(root, "", false)
	return place, items
}

// objects calls found for each such object in a value, with the object that was at its
// place before, nil if there was none. Items have none; arrays that are as they were
// before are passed over. It ends with an error of found.
func (w *way) objects(value, before map[string]any, found func(self, old map[string]any, at document.Pointer, item bool) error) error {
	return w.within(w.from, value, before, nil, false, found)
}

func (w *way) within(shape *document.Shape, value, before any, at document.Pointer, item bool, found func(self, old map[string]any, at document.Pointer, item bool) error) error {
	switch v := value.(type) {
	case map[string]any:
		old, _ := before.(map[string]any)
		if shape == w.to && shape != w.from {
			if err := found(v, old, at, item); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if inner := shape.Member(name); w.leads(inner) {
				if err := w.within(inner, v[name], old[name], at.At(name), item, found); err != nil {
					return err
				}
			}
		}
	case []any:
		if before != nil && document.Equal(value, before) {
			return nil
		}
		for i, inner := range v {
			if of := shape.Item(i); w.leads(of) {
				if err := w.within(of, inner, nil, at.Index(i), true, found); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
