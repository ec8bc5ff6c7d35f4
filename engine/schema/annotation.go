package schema

import (
	"slices"
	"strings"

	"marquee/engine/document"
)

// standing is a set of positions that a value can have in its container.
type standing int

const (
	root     standing = 1 << iota // the object itself
	property                      // a declared property of the type
	member                        // a declared member of a nested object
	entry                         // a member that is not declared by name
	item                          // an item of an array
)

const anyMember = property | member | entry

// annotation is a keyword that determines how the engine treats a value.
type annotation struct {
	keyword string
	// set reports whether the annotation applies to a value.
	set func(*document.Shape) bool
	// of are the positions in which the annotation has an effect; cure is the
	// advice for other positions.
	of   standing
	cure string
}

// annotations are all annotations with the positions in which they have an effect.
var annotations = []annotation{
	{"x-secret", func(s *document.Shape) bool { return s.Secret }, anyMember, "make each secret a property of its own"},
	{"x-ref", func(s *document.Shape) bool { return s.Ref != nil }, anyMember | item, "put it on a property or on the items of an array"},
	{"x-complete", func(s *document.Shape) bool { return s.Complete }, anyMember | item, "put it on a property or on the items of an array"},
	{"x-lookup", func(s *document.Shape) bool { return s.Lookup != "" }, anyMember | item, "put it on a property or on the items of an array"},
	{"x-unknown", func(s *document.Shape) bool { return s.RefusesUnknown }, anyMember | item, "put it on a property or on the items of an array"},
	{"readOnly", func(s *document.Shape) bool { return s.ReadOnly }, anyMember, "put it on a property"},
	{"writeOnly", func(s *document.Shape) bool { return s.WriteOnly }, anyMember, "put it on a property"},
	{"default", func(s *document.Shape) bool { return s.HasDefault }, property | member, "put it on a property that is declared by name: only that can be absent"},
	{"x-immutable", func(s *document.Shape) bool { return s.Immutable }, property, "put it on a top-level property"},
	{"x-transitions", func(s *document.Shape) bool { return s.Transitions != nil }, property, "put it on a top-level property"},
	{"x-derived", func(s *document.Shape) bool { return s.Derived }, property, "put it on a top-level property"},
}

// standingNames describe the positions in messages.
var standingNames = map[standing]string{
	root: "the object itself", member: "a nested property", entry: "members that are not declared by name", item: "the items of an array",
}

// isAnnotation reports whether a keyword is an annotation. It includes
// uniqueItems, which the engine checks itself wherever it describes a value.
func isAnnotation(keyword string, value any) bool {
	return value != false &&
		(keyword == "uniqueItems" || slices.ContainsFunc(annotations, func(a annotation) bool { return a.keyword == keyword }))
}

// annotations checks that each annotation is in a position where it has an
// effect, and that those of one value do not conflict.
func (c *typeLint) annotations() {
	c.annotated(c.t.Shape, root)
	c.below(c.t.Shape, map[*document.Shape]bool{})
}

func (c *typeLint) below(shape *document.Shape, seen map[*document.Shape]bool) {
	if seen[shape] {
		return
	}
	seen[shape] = true
	if shape.Ref != nil {
		c.reference(shape.Ref)
		return // only the id is stored
	}
	visit := func(child *document.Shape, as standing) {
		if child == nil || child == document.AnyShape {
			return
		}
		c.annotated(child, as)
		c.below(child, seen)
	}
	for _, inner := range shape.Properties {
		as := member
		if c.topLevel(inner) {
			as = property
		}
		visit(inner, as)
	}
	for _, inner := range append(slices.Clone(shape.Matching), shape.Extra) {
		visit(inner, entry)
	}
	for _, inner := range append(slices.Clone(shape.Prefix), shape.Items) {
		visit(inner, item)
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

// annotated checks the annotations of one value.
func (c *typeLint) annotated(shape *document.Shape, as standing) {
	for _, a := range annotations {
		if a.set(shape) && a.of&as == 0 {
			c.l.problems = append(c.l.problems, c.l.shapes.at(shape, a.keyword, a.keyword+" is not supported on "+standingNames[as], a.cure))
		}
	}
	if !c.l.shapes.uncertain(shape) {
		c.l.problems = append(c.l.problems, c.l.shapes.conflicts(shape)...)
	}
	c.defaults(shape)
	if shape.Ref == nil {
		c.named(shape)
	}
}

// at returns a problem with an annotation of a value, at the keyword.
func (s *shapes) at(shape *document.Shape, keyword, text, cure string) Problem {
	for _, p := range s.places[shape] {
		if _, there := p.schema()[keyword]; there {
			return Problem{File: p.f.name, Pointer: p.pointer + "/" + keyword, Text: text, Cure: cure}
		}
	}
	return Problem{Text: text, Cure: cure}
}

// conflicts returns the annotations of a value that cannot be combined.
func (s *shapes) conflicts(shape *document.Shape) Problems {
	var list Problems
	add := func(keyword, text, cure string) { list = append(list, s.at(shape, keyword, text, cure)) }
	switch {
	case shape.Secret && shape.Ref != nil:
		add("x-secret", "a reference cannot be secret", "remove x-ref or x-secret")
	case shape.Secret && slices.ContainsFunc(shape.Types, func(name string) bool { return name != "string" && name != "null" }):
		add("x-secret", "a secret must be a string, and this value can be of type "+strings.Join(shape.Types, " or "), "allow only strings")
	}
	if shape.ReadOnly && shape.WriteOnly {
		add("writeOnly", "a value cannot be both readOnly and writeOnly", "remove one of them")
	}
	if shape.Immutable && shape.Transitions != nil {
		add("x-transitions", "a value that is x-immutable has no transitions", "remove one of them")
	}
	if shape.Complete && !shape.Is("object") {
		add("x-complete", "a value that is x-complete must be an object", `write "type": "object"`)
	}
	if shape.RefusesUnknown && !shape.HasMembers() && !shape.Is("array") {
		add("x-unknown", "a value whose unknown members are refused must be an object or an array", `write "type": "object"`)
	}
	if shape.Lookup != "" && shape.Properties["id"] == nil {
		add("x-lookup", "the object has no property id to look up", "declare id, an integer")
	}
	for _, keyword := range []string{"x-ref", "x-transitions", "x-lookup"} {
		list = append(list, s.once(shape, keyword)...)
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
			list = append(list, Problem{File: p.f.name, Pointer: p.pointer + "/" + keyword,
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
		types := stringList(p.schema()["type"])
		if !described[p.location] && len(types) > 0 && !slices.ContainsFunc(types, func(name string) bool { return slices.Contains(allowed, name) }) {
			list = append(list, Problem{File: p.f.name, Pointer: p.pointer + "/type",
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
				if applicators[keyword].role == tested || keyword == "if" {
					l.tested(location{f, at + "/" + keyword}, value, keyword)
				}
			}
		})
		for _, when := range conditions(f) {
			walk(when, lookup(f.content, when), func(at string, schema map[string]any) {
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
		walk(from.pointer, value, func(at string, schema map[string]any) {
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
					follow(location{target, pointer}, schemaAt(target.content, pointer))
				}
			}
		})
	}
	follow(where, value)
}
