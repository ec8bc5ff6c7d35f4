package transfer

import (
	"slices"
	"strings"

	"marquee/engine/schema"
)

// Order sorts types by name, but each after the types that it refers to. With
// circular references, that is impossible for one of the types.
func Order(registry *schema.Registry, types []*schema.Type) []*schema.Type {
	wanted := map[string]*schema.Type{}
	for _, t := range types {
		wanted[t.Name] = t
	}
	var ordered []*schema.Type
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		t, served := registry.Type(name)
		if seen[name] || !served {
			return
		}
		seen[name] = true
		for _, target := range targets(t) {
			visit(target)
		}
		if wanted[name] != nil {
			ordered = append(ordered, t)
		}
	}
	sorted := slices.SortedFunc(slices.Values(types), func(a, b *schema.Type) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range sorted {
		visit(t.Name)
	}
	return ordered
}

// targets returns the names of the other types that a type refers to, sorted.
// Types that belong to a network refer to it.
func targets(t *schema.Type) []string {
	found := map[string]bool{networks: !t.Global}
	for shape := range t.Shape.All() {
		if shape.Ref != nil {
			found[shape.Ref.Type] = true
		}
	}
	var names []string
	for name, refers := range found {
		if refers && name != t.Name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
