package schema

import (
	"fmt"
	"slices"
	"strings"

	"marquee/engine/document"
)

// owners checks that the paths of a type lead to owners.
func (c *typeLint) owners() {
	for i, path := range c.t.Team {
		at := fmt.Sprintf("/x-resource/team/%d", i)
		if end := c.follow(at, path, "a team path"); end != nil && end.Name != teamType && teamProperties(c.types)[end.Name] == nil {
			c.problem(at, path+" leads to "+end.Name, "a team path ends at teams, or at a type that teams refer to")
		}
	}
	if len(c.t.Owner) == 0 {
		return
	}
	switch {
	case slices.Contains(KeptTypes, c.t.Name):
		c.problem("/x-resource/owner", c.t.Name+" belong to nobody in particular", "leave owner out")
		return
	case c.t.Global:
		c.problem("/x-resource/owner", "the objects of "+c.t.Name+" belong to no network, and so to no role", `leave out owner, or "scope": "global"`)
		return
	}
	for i, path := range c.t.Owner {
		at := fmt.Sprintf("/x-resource/owner/%d", i)
		if end := c.follow(at, path, "an owner path"); path != "id" && end != nil && end.Name != userType {
			c.problem(at, path+" leads to "+end.Name, "an owner path ends at users")
		}
	}
}

// follow returns the type to which a path leads, or nil if that is not known.
func (c *typeLint) follow(at, path, kind string) *Type {
	t := c.t
	if path == "id" {
		return t
	}
	names := strings.Split(path, ".")
	for i, name := range names {
		member := t.Shape.Properties[name]
		shape := member
		if shape != nil && shape.Element != nil {
			shape = shape.Element
		}
		if slices.ContainsFunc([]*document.Shape{t.Shape, member, shape}, c.l.shapes.uncertain) {
			return nil
		}
		if shape != nil && shape.Ref != nil && c.types[shape.Ref.Type] == nil && c.l.mayName(shape.Ref.Type) {
			return nil
		}
		if shape == nil || shape.Ref == nil || shape.Ref.Object || shape.Ref.Network != "" || c.types[shape.Ref.Type] == nil {
			c.problem(at, name+" is not a reference of "+t.Name, kind+" leads from reference to reference")
			return nil
		}
		if member.Readable != "" {
			c.problem(at, name+" of "+t.Name+" is x-readable, and "+kind+" shows whose the objects are", "remove one of them")
		}
		t = c.types[shape.Ref.Type]
		if t.Global && i < len(names)-1 {
			c.problem(at, path+" leads through "+t.Name+", which belong to no network", kind+" leads through objects of the same network")
			return nil
		}
	}
	return t
}
