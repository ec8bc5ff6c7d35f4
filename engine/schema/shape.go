package schema

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/keyword"
)

// location is a place in a file, usually of a schema.
type location struct {
	f       *File
	pointer string
}

func (at location) in(tokens ...string) location {
	return location{at.f, at.pointer + document.Pointer(tokens).String()}
}

// maxShapes is the maximum number of shapes of a load.
const maxShapes = 60_000

// shapes compiles schemas to shapes. Several schemas describe a value: the one at
// its position, and those that it refers to or combines. Each such set has one
// shape, so that a recursive schema results in a cyclic shape.
//
// Annotations apply whether or not the condition of their subschema holds, as in a
// branch of anyOf, in then, in dependentSchemas or in contains. A value that can
// be secret is secret.
type shapes struct {
	l    *loader
	done map[string]*document.Shape
	// places are the schemas of each shape.
	places map[*document.Shape][]subschema
	// possibles has the results of kinds.
	possibles map[location]kindSet
}

func newShapes(l *loader) *shapes {
	return &shapes{l: l, done: map[string]*document.Shape{}, places: map[*document.Shape][]subschema{}, possibles: map[location]kindSet{}}
}

// subschema is a schema that applies to a value.
type subschema struct {
	location
	// always reports whether the schema applies unconditionally.
	always bool
	// closes reports whether undeclared members are unknown.
	closes bool
	// some reports whether the schema is within contains, which describes only some
	// items, so that it makes no member unknown.
	some bool
	// loose reports whether the schema is a condition, or within one outcome of a condition
	// whose other outcome has no schema.
	loose bool
}

func subschemaAt(where location) subschema {
	return subschema{location: where, always: true, closes: true}
}

// in returns the location of a schema for a member or an item.
func (p subschema) in(tokens ...string) subschema {
	return subschema{location: p.location.in(tokens...), always: p.always, closes: !p.some, some: p.some, loose: p.loose}
}

// schema returns the schema at the location, nil for true and false.
func (at location) schema() map[string]any {
	schema, _ := document.Lookup(at.f.Content, at.pointer).(map[string]any)
	return schema
}

// of compiles the schemas that describe one value.
func (s *shapes) of(places ...subschema) *document.Shape {
	all := s.closure(places)
	var key strings.Builder
	for _, p := range all {
		fmt.Fprintf(&key, "%s#%s %t %t %t %t\n", p.f.Path, p.pointer, p.always, p.closes, p.some, p.loose)
	}
	if shape, ok := s.done[key.String()]; ok {
		return shape
	}
	if len(s.done) == maxShapes {
		s.l.problem(places[0].f, places[0].pointer, "the schemas combine in too many ways", "combine fewer schemas that refer to themselves")
		return document.AnyShape
	}
	shape := &document.Shape{}
	s.done[key.String()], s.places[shape] = shape, all
	for _, p := range places {
		adopt(shape, s.annotations(p.location, map[location]bool{}))
	}
	declared(shape, all)
	shape.Possible = s.possible(places)
	bound(shape, all)
	s.members(shape, all)
	s.items(shape, all)
	return shape
}

// closure returns schemas and all schemas that they apply to the same value, by
// $ref or by applicators.
func (s *shapes) closure(places []subschema) []subschema {
	var all []subschema
	index := map[location]int{}
	var add func(p subschema)
	add = func(p subschema) {
		i, known := index[p.location]
		if !known {
			i = len(all)
			index[p.location] = i
			all = append(all, subschema{location: p.location, some: true, loose: true})
		}
		was := all[i]
		stronger := subschema{location: p.location, always: p.always || was.always, closes: p.closes || was.closes, some: p.some && was.some, loose: p.loose && was.loose}
		if known && stronger == was {
			return
		}
		all[i] = stronger
		for _, other := range s.applied(stronger) {
			add(other)
		}
	}
	for _, p := range places {
		add(p)
	}
	return all
}

// applied returns the schemas that a schema applies to the same value.
func (s *shapes) applied(p subschema) []subschema {
	schema := p.schema()
	var list []subschema
	if ref, ok := schema["$ref"].(string); ok {
		if target, pointer, text := s.l.resolve(p.f, ref); text == "" {
			other := p
			other.location = location{target, pointer}
			list = append(list, other)
		}
	}
	for _, keyword := range combining(schema) {
		role, from := dialect.RoleOf(keyword), len(list)
		dialect.Applied(keyword, schema[keyword], func(below string, inner any) {
			if _, is := inner.(map[string]any); is {
				other := p
				other.pointer += below
				other.always = p.always && role == dialect.Always
				other.closes = p.closes && keyword != "dependentSchemas"
				other.loose = p.loose || keyword == "if" || keyword == "dependentSchemas" || keyword == "then" && schema["else"] == nil || keyword == "else" && schema["then"] == nil
				list = append(list, other)
			}
		})
		slices.SortFunc(list[from:], func(a, b subschema) int { return strings.Compare(a.pointer, b.pointer) })
	}
	return list
}

// combining returns the keywords of a schema that apply schemas to the same value, in order.
func combining(schema map[string]any) (keywords []string) {
	for keyword := range schema {
		if role := dialect.RoleOf(keyword); role == dialect.Always || role == dialect.Sometimes {
			keywords = append(keywords, keyword)
		}
	}
	slices.Sort(keywords)
	return keywords
}

// annotations returns the annotations of a schema for the value itself. They override
// those of the schemas that it refers to or combines.
func (s *shapes) annotations(where location, on map[location]bool) *document.Shape {
	shape := &document.Shape{}
	if on[where] {
		return shape
	}
	on[where] = true
	for _, other := range s.applied(subschemaAt(where)) {
		adopt(shape, s.annotations(other.location, on))
	}
	schema := where.schema()
	s.types(shape, schema)
	annotate(shape, schema)
	return shape
}

func (s *shapes) types(shape *document.Shape, schema map[string]any) {
	switch t := schema["type"].(type) {
	case string:
		shape.Types = []string{t}
	case []any:
		shape.Types = nil
		for _, name := range t {
			if name, ok := name.(string); ok {
				shape.Types = append(shape.Types, name)
			}
		}
	case nil:
		values, listed := schema["enum"].([]any)
		if value, one := schema["const"]; one {
			values, listed = []any{value}, true
		}
		if listed {
			shape.Types = nil
		}
		for _, value := range values {
			if name := cmp.Or(document.KindOf(value), "null"); !shape.Is(name) {
				shape.Types = append(shape.Types, name)
			}
		}
	}
}

// annotate sets what the keywords of a schema mean for the value itself.
func annotate(shape *document.Shape, schema map[string]any) {
	for _, k := range keyword.OfValues() {
		if value, there := schema[k.Name]; there {
			k.Read(shape, value)
		}
	}
	_, shape.Formatted = schema["format"]
	switch schema["format"] {
	case "date-time":
		shape.Time = true
	case "hostname":
		shape.Text = document.ASCIIHost
	case "uri":
		shape.Text = document.ASCIIHostOfURL
	}
}

// adopt adds the annotations of another schema of the same value.
func adopt(shape, other *document.Shape) {
	for _, name := range other.Types {
		if !shape.Is(name) {
			shape.Types = append(shape.Types, name)
		}
	}
	if other.Text != nil {
		shape.Text = other.Text
	}
	shape.Time = shape.Time || other.Time
	shape.Formatted = shape.Formatted || other.Formatted
	for _, k := range keyword.OfValues() {
		k.Adopt(shape, other)
	}
}

// declared leaves out the types of an enum or a const that no schema of the value declares, if
// one that always applies declares any.
func declared(shape *document.Shape, all []subschema) {
	var named []string
	always := false
	for _, p := range all {
		if types := keyword.Strings(p.schema()["type"]); len(types) > 0 {
			named, always = append(named, types...), always || p.always
		}
	}
	kept := slices.DeleteFunc(slices.Clone(shape.Types), func(name string) bool { return !slices.Contains(named, name) })
	if always && len(kept) > 0 {
		shape.Types = kept
	}
}

// bound sets what the schemas of a value always require of it.
func bound(shape *document.Shape, all []subschema) {
	for _, p := range all {
		if !p.always {
			continue
		}
		schema := p.schema()
		shape.Required = append(shape.Required, keyword.Strings(schema["required"])...)
		if format, ok := schema["format"].(string); ok {
			shape.Format = format
		}
		for name, most := range map[string]*int{"maxItems": &shape.MaxItems, "maxLength": &shape.MaxLength, "maxProperties": &shape.MaxProperties} {
			if n, ok := schema[name].(int64); ok && (*most == 0 || int(n) < *most) {
				*most = int(n)
			}
		}
	}
}

const (
	notReached = "a schema can refer to files of its folder and of common/ only"
	refCure    = "refer to #/… in this file, or to a file of common/"
)

// resolve finds the file and the pointer of a $ref. Text explains why it cannot.
func (l *loader) resolve(f *File, ref string) (target *File, pointer, text string) {
	base, fragment, _ := strings.Cut(ref, "#")
	target = f
	if base != "" {
		if strings.Contains(base, ":") || strings.HasPrefix(base, "/") {
			return nil, "", notReached
		}
		name := path.Join(path.Dir(f.Path), base)
		if target = l.files[name]; target == nil {
			return nil, "", "there is no file " + name
		}
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return nil, "", "only JSON Pointers are supported after #"
	}
	if dialect.At(target.Content, pointer) == nil {
		return nil, "", "there is no schema at " + ref
	}
	return target, pointer, ""
}
