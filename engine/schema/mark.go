package schema

import (
	"maps"
	"slices"

	"marquee/engine/document"
)

// mark sets the properties of a shape that depend on all shapes within it. It
// reports false for a complete object that contains itself, which has no finite
// empty form.
func mark(root *document.Shape) bool {
	all := slices.Collect(root.All())
	for _, shape := range all {
		shape.Whole = nil
		for name, member := range shape.Properties {
			if member.Complete {
				shape.Whole = append(shape.Whole, name)
			}
		}
		slices.Sort(shape.Whole)
		shape.HasSecrets, shape.HasPersonal, shape.HasLookups = shape.Secret, shape.Personal, shape.Lookup != ""
		shape.HasReadable, shape.HasWriteOnly = shape.Readable != "", shape.WriteOnly
		shape.Fills = fills(shape)
		shape.AmendsMembers, shape.Amends = false, len(shape.Fills)+len(shape.Was) > 0
		shape.Plain = !shape.Secret && !shape.WriteOnly && !shape.Complete && shape.Ref == nil && !shape.HasLookups
		if shape.Complete {
			left := maxPlaces
			if shape.Children(func(child *document.Shape) bool { return !fits(child, &left) }) {
				return false
			}
			shape.Names = slices.Sorted(maps.Keys(shape.Properties))
			shape.Empty = document.Append(nil, shape.EmptyForm())
			for _, member := range shape.Properties {
				member.Empty = document.Append(nil, member.EmptyForm())
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, shape := range all {
			if !shape.HasSecrets && shape.Children(func(child *document.Shape) bool { return child.HasSecrets }) {
				shape.HasSecrets, changed = true, true
			}
			if !shape.HasWriteOnly && shape.Children(func(child *document.Shape) bool { return child.HasWriteOnly }) {
				shape.HasWriteOnly, changed = true, true
			}
			if !shape.HasPersonal && shape.Children(func(child *document.Shape) bool { return child.HasPersonal }) {
				shape.HasPersonal, changed = true, true
			}
			if !shape.HasReadable && shape.Children(func(child *document.Shape) bool { return child.HasReadable }) {
				shape.HasReadable, changed = true, true
			}
			if !shape.AmendsMembers && shape.Children(func(child *document.Shape) bool { return child.Amends }) {
				shape.AmendsMembers, shape.Amends, changed = true, true, true
			}
			if !shape.HasLookups && shape.Children(func(child *document.Shape) bool { return child.HasLookups }) {
				shape.HasLookups, changed = true, true
			}
			if shape.Plain && shape.Children(func(child *document.Shape) bool { return !child.Plain }) {
				shape.Plain, changed = false, true
			}
		}
	}
	return true
}

// fills returns the required members that stored objects get if they lack them. A default
// with a reference is not filled in, as its target may be gone.
func fills(shape *document.Shape) (names []string) {
	for _, name := range shape.Required {
		member := shape.Properties[name]
		if member == nil || !member.HasDefault || member.WriteOnly || member.Derived {
			continue
		}
		refers := false
		shape.References(map[string]any{name: member.Default}, func(document.Pointer, *document.Reference, string, string) { refers = true })
		if !refers {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
