package schema

import (
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/keyword"
)

// positions describe the positions of values in messages.
var positions = map[keyword.Position]string{
	keyword.Root: "the object itself", keyword.Nested: "a nested property", keyword.Undeclared: "members that are not declared by name", keyword.Item: "the items of an array",
}

// isAnnotation reports whether a keyword determines how the engine treats a value.
func isAnnotation(name string, value any) bool {
	k := keyword.Named(name)
	return k != nil && !k.OfType() && value != false
}

// annotations checks that each annotation is in a position where it has an
// effect, and that those of one value do not conflict.
func (c *typeLint) annotations() {
	c.annotated(c.t.Shape, keyword.Root, "")
	c.below(c.t.Shape, map[*document.Shape]bool{})
}

func (c *typeLint) below(shape *document.Shape, seen map[*document.Shape]bool) {
	if seen[shape] || shape.Ref != nil { // of a reference, only the id is stored
		return
	}
	seen[shape] = true
	visit := func(child *document.Shape, as keyword.Position, name string) {
		if child == nil || child == document.AnyShape {
			return
		}
		c.annotated(child, as, name)
		c.below(child, seen)
	}
	for name, inner := range shape.Properties {
		as := keyword.Nested
		if c.topLevel(inner) {
			as = keyword.Property
		}
		visit(inner, as, name)
	}
	for _, inner := range append(slices.Clone(shape.Matching), shape.Extra) {
		visit(inner, keyword.Undeclared, "")
	}
	for _, inner := range append(slices.Clone(shape.Prefix), shape.Items) {
		visit(inner, keyword.Item, "")
	}
}

// topLevel reports whether a shape is that of a top-level property, even if a
// recursive schema reaches it again at another position.
func (c *typeLint) topLevel(shape *document.Shape) bool {
	for _, member := range c.t.Shape.Properties {
		if member == shape {
			return true
		}
	}
	return false
}

// annotated checks the annotations of one value, which is a member with a name or an item.
func (c *typeLint) annotated(shape *document.Shape, as keyword.Position, name string) {
	for _, k := range keyword.OfValues() {
		if !k.Has(shape) {
			continue
		}
		problem := func(below, text, cure string) {
			c.l.problems = append(c.l.problems, c.l.shapes.at(shape, k.Name, below, text, cure))
		}
		switch {
		case !c.l.shapes.has(shape, k.Name): // another keyword implies it
		case k.On&as == 0:
			problem("", k.Name+" is not supported on "+positions[as], k.Cure)
		case k.Lint != nil:
			k.Lint(keyword.Value{Type: c.seen, Name: name, Shape: shape, Problem: problem})
		}
		if k.Sample != nil {
			if value, given := k.Sample(shape); given {
				c.given(shape, k.Name, "", "the "+strings.TrimPrefix(k.Name, "x-"), value)
			}
		}
	}
	for from, to := range shape.Was {
		c.given(shape, "x-was-values", "/"+document.EscapeToken(from), "the value", to)
	}
	if !c.l.shapes.uncertain(shape) {
		c.l.problems = append(c.l.problems, c.l.shapes.conflicts(shape)...)
	}
	if shape.Ref == nil {
		c.named(shape)
	}
}

// has reports whether a schema of a value has a keyword.
func (s *shapes) has(shape *document.Shape, keyword string) bool {
	return slices.ContainsFunc(s.places[shape], func(p subschema) bool {
		_, there := p.schema()[keyword]
		return there
	})
}

// at returns a problem with an annotation of a value, at a pointer below the keyword.
func (s *shapes) at(shape *document.Shape, keyword, below, text, cure string) Problem {
	for _, p := range s.places[shape] {
		if _, there := p.schema()[keyword]; there {
			return Problem{File: p.f.Name, Pointer: p.pointer + "/" + keyword + below, Text: text, Cure: cure}
		}
	}
	return Problem{Text: text, Cure: cure}
}

// conflicts returns the annotations of a value that cannot be combined.
func (s *shapes) conflicts(shape *document.Shape) Problems {
	var list Problems
	for _, k := range keyword.OfValues() {
		if k.Conflict != nil && k.Has(shape) {
			if text, cure := k.Conflict(shape); text != "" {
				list = append(list, s.at(shape, k.Name, "", text, cure))
			}
		}
		if k.Once {
			list = append(list, s.once(shape, k.Name)...)
		}
	}
	if shape.Ref != nil {
		list = append(list, s.referenceTypes(shape)...)
	}
	return list
}

// once checks that the subschemas of a value agree on a keyword.
func (s *shapes) once(shape *document.Shape, keyword string) Problems {
	var list Problems
	var first any
	for _, p := range s.places[shape] {
		value, there := p.schema()[keyword]
		switch {
		case !there:
		case first == nil:
			first = value
		case !document.Equal(first, value):
			list = append(list, Problem{File: p.f.Name, Pointer: p.pointer + "/" + keyword,
				Text: "another subschema of the same value has a different " + keyword, Cure: "use the same in every branch"})
		}
	}
	return list
}

// referenceTypes checks that no subschema of a reference excludes strings, as
// references are stored as strings. The keywords next to x-ref, and the schemas
// that they apply, describe what clients send, and are exempt.
func (s *shapes) referenceTypes(shape *document.Shape) Problems {
	allowed := []string{"string", "null"}
	if shape.Ref.Object {
		allowed = append(allowed, "object")
	}
	all := s.places[shape]
	var referring []subschema
	for _, p := range all {
		if p.schema()["x-ref"] != nil {
			referring = append(referring, p)
		}
	}
	described := map[location]bool{}
	for _, p := range s.closure(referring) {
		described[p.location] = true
	}
	var list Problems
	for _, p := range all {
		types := keyword.Strings(p.schema()["type"])
		if !described[p.location] && len(types) > 0 && !slices.ContainsFunc(types, func(name string) bool { return slices.Contains(allowed, name) }) {
			list = append(list, Problem{File: p.f.Name, Pointer: p.pointer + "/type",
				Text: "another subschema makes the same value a reference, which is stored as a string", Cure: "remove this type, or the x-ref"})
		}
	}
	return list
}

// checkTested rejects annotations in schemas that only test a value, where they
// have no effect.
func (l *loader) checkTested() {
	for _, f := range l.inOrder() {
		walkFile(f, func(at string, schema map[string]any) {
			for keyword, value := range schema {
				if dialect.RoleOf(keyword) == dialect.Tested || keyword == "if" {
					l.tested(location{f, at + "/" + keyword}, value, keyword)
				}
			}
		})
		for _, when := range conditions(f) {
			dialect.Walk(when, document.Lookup(f.Content, when), func(at string, schema map[string]any) {
				for keyword, value := range schema {
					if isAnnotation(keyword, value) && !l.reported(f, at+"/"+keyword) {
						l.report(f, at+"/"+keyword, "annotations have no effect in a condition", "remove it")
					}
				}
			})
		}
	}
}

func (l *loader) tested(where location, value any, keyword string) {
	found := map[location]bool{}
	var follow func(from location, value any)
	follow = func(from location, value any) {
		dialect.Walk(from.pointer, value, func(at string, schema map[string]any) {
			here := location{from.f, at}
			if found[here] {
				return
			}
			found[here] = true
			for name, value := range schema {
				if isAnnotation(name, value) && (keyword != "if" || name == "uniqueItems") {
					l.report(here.f, at+"/"+name, name+" has no effect under "+keyword+" (#"+where.pointer+"), which only tests a value", "remove it, or put it on the schema that describes the value")
				}
			}
			if ref, ok := schema["$ref"].(string); ok {
				if target, pointer, text := l.resolve(from.f, ref); text == "" {
					follow(location{target, pointer}, dialect.At(target.Content, pointer))
				}
			}
		})
	}
	follow(where, value)
}
