package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/query"
)

// KeptTypes are the types of every application, in the order of their names. The service
// remembers their objects by id, which are therefore never removed.
var KeptTypes = []string{"networks", "roles", "teams", "tokens", "users"}

const removal = "DELETE"

// Removable reports whether objects of the type can be removed.
func (t *Type) Removable() bool { return slices.Contains(t.Methods, removal) }

// Target is a type that references lead to.
type Target struct {
	Type   string `json:"type"`
	Global bool   `json:"global,omitempty"`
}

// RemovableTargets returns the types with objects that can be removed and that objects of
// the type refer to. The key of each is that of the terms which name these objects. It
// depends on where the references are, so that a schema with other references has another
// one.
func (t *Type) RemovableTargets() map[string]Target { return t.targets }

// resolveTargets finds the types that can be removed among those referred to.
func (t *Type) resolveTargets(types map[string]*Type) {
	referred := map[string]bool{}
	for shape := range t.Shape.All() {
		if shape.Ref != nil {
			referred[shape.Ref.Type] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(referred)) {
		target := types[name]
		if target == nil || !target.Removable() {
			continue
		}
		search := referenceSearch{target: name, leads: map[*document.Shape]bool{}, number: map[*document.Shape]int{}, digest: sha256.New()}
		search.find(t.Shape)
		search.describe(t.Shape)
		if t.targets == nil {
			t.targets = map[string]Target{}
		}
		t.targets[query.OrderedKey+"ref."+name+"."+hex.EncodeToString(search.digest.Sum(nil)[:8])] = Target{name, target.Global}
	}
}

// referenceSearch describes where a shape has references to a type.
type referenceSearch struct {
	target string
	// leads holds the shapes that are such references, or have some within them.
	leads  map[*document.Shape]bool
	number map[*document.Shape]int
	digest hash.Hash
}

// find fills leads.
func (s *referenceSearch) find(root *document.Shape) {
	all := slices.Collect(root.All())
	for changed := true; changed; {
		changed = false
		for _, shape := range all {
			refers := shape.Ref != nil && shape.Ref.Type == s.target
			if !s.leads[shape] && (refers || shape.Children(func(inner *document.Shape) bool { return s.leads[inner] })) {
				s.leads[shape], changed = true, true
			}
		}
	}
}

// describe adds a shape to the digest, and what is within it, each shape once.
func (s *referenceSearch) describe(shape *document.Shape) {
	if number, described := s.number[shape]; described {
		fmt.Fprintf(s.digest, "=%d;", number)
		return
	}
	s.number[shape] = len(s.number)
	if shape.Ref != nil && shape.Ref.Type == s.target {
		fmt.Fprintf(s.digest, "ref %t;", shape.Ref.Object)
	}
	inner := func(place string, child *document.Shape) {
		if child != nil && s.leads[child] {
			fmt.Fprintf(s.digest, "%q(", place)
			s.describe(child)
			fmt.Fprint(s.digest, ")")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shape.Properties)) {
		inner("."+name, shape.Properties[name])
	}
	for _, pattern := range shape.Patterns {
		fmt.Fprintf(s.digest, "%q;", pattern)
	}
	for matched, member := range shape.Matching {
		inner(fmt.Sprint("~", matched), member)
	}
	for i, item := range shape.Prefix {
		inner(fmt.Sprint("#", i), item)
	}
	inner("*", shape.Extra)
	inner("[]", shape.Items)
}

// removals checks the method DELETE.
func (c *typeLint) removals() {
	at := slices.Index(c.t.Methods, removal)
	if at >= 0 && slices.Contains(KeptTypes, c.t.Name) {
		c.problem(fmt.Sprintf("/x-resource/methods/%d", at), "objects of "+c.t.Name+" are never removed", "leave out DELETE, and set objectState to HIDDEN")
	}
}
