package schema

import (
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
)

// location is the place of a schema.
type location struct {
	f       *file
	pointer string
}

func (at location) in(tokens ...string) location {
	return location{at.f, at.pointer + document.Pointer(tokens).String()}
}

// maxShapes bounds what the files of a load can combine into.
const maxShapes = 20_000

// shapes compiles schemas into shapes. What is said of a value stands in
// several schemas: the one at its place, and those that this one refers to or
// combines. Each such set has one shape, so a schema that refers to itself
// gives a cyclic shape.
type shapes struct {
	l    *loader
	done map[string]*document.Shape
	// refs tells where a reference was declared.
	refs map[*document.Reference]location
}

func newShapes(l *loader) *shapes {
	return &shapes{l: l, done: map[string]*document.Shape{}, refs: map[*document.Reference]location{}}
}

// of compiles the schemas at some places, which speak of one value.
func (s *shapes) of(places ...location) *document.Shape {
	var all []location
	seen := map[location]bool{}
	for _, at := range places {
		s.closure(at, seen, &all)
	}
	var key strings.Builder
	for _, at := range all {
		key.WriteString(at.f.url + "#" + at.pointer + "\n")
	}
	if shape, ok := s.done[key.String()]; ok {
		return shape
	}
	if len(s.done) == maxShapes {
		s.l.problem(places[0].f, places[0].pointer, "the schemas combine in too many ways", "combine fewer schemas that refer to themselves")
		return document.AnyShape
	}
	shape := &document.Shape{}
	s.done[key.String()] = shape
	for _, at := range places {
		adopt(shape, s.said(at, map[location]bool{}))
	}
	s.children(shape, all)
	return shape
}

// closure lists a schema and those that add to it: a $ref and the branches of
// allOf, anyOf, oneOf, if, then and else.
func (s *shapes) closure(at location, seen map[location]bool, all *[]location) {
	if seen[at] {
		return
	}
	seen[at] = true
	*all = append(*all, at)
	for _, other := range s.applied(at) {
		s.closure(other, seen, all)
	}
}

func (s *shapes) applied(at location) []location {
	schema, _ := lookup(at.f.content, at.pointer).(map[string]any)
	var list []location
	if ref, ok := schema["$ref"].(string); ok {
		if target, pointer, text := s.l.resolve(at.f, ref); text == "" {
			list = append(list, location{target, pointer})
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := schema[keyword].([]any)
		for i := range branches {
			list = append(list, at.in(keyword, strconv.Itoa(i)))
		}
	}
	for _, keyword := range []string{"if", "then", "else"} {
		if _, ok := schema[keyword].(map[string]any); ok {
			list = append(list, at.in(keyword))
		}
	}
	return list
}

// said is what a schema says of the value itself. What it says in its own
// words overrides what the schemas say that it refers to or combines.
func (s *shapes) said(at location, on map[location]bool) *document.Shape {
	shape := &document.Shape{}
	if on[at] {
		return shape
	}
	on[at] = true
	for _, other := range s.applied(at) {
		adopt(shape, s.said(other, on))
	}
	if schema, ok := lookup(at.f.content, at.pointer).(map[string]any); ok {
		s.types(shape, schema)
		s.annotations(shape, schema, at)
	}
	return shape
}

// children compiles what the schemas say of members and items.
func (s *shapes) children(shape *document.Shape, all []location) {
	members := map[string][]location{}
	var extra, items []location
	closed, open := false, false
	for _, at := range all {
		schema, _ := lookup(at.f.content, at.pointer).(map[string]any)
		properties, declares := schema["properties"].(map[string]any)
		for name := range properties {
			members[name] = append(members[name], at.in("properties", name))
		}
		patterns, _ := schema["patternProperties"].(map[string]any)
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			extra = append(extra, at.in("patternProperties", pattern))
		}
		switch additional := schema["additionalProperties"].(type) {
		case bool:
			open, closed = open || additional, closed || !additional
		case map[string]any:
			extra = append(extra, at.in("additionalProperties"))
		}
		if _, ok := schema["items"].(map[string]any); ok {
			items = append(items, at.in("items"))
		}
		closed = closed || declares
	}
	if closed {
		shape.Properties = make(map[string]*document.Shape, len(members))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		shape.Properties[name] = s.of(members[name]...)
	}
	switch {
	case len(extra) > 0:
		shape.Extra = s.of(extra...)
	case open:
		shape.Extra = document.AnyShape
	}
	if len(items) > 0 {
		shape.Items = s.of(items...)
	}
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
	}
}

func (s *shapes) annotations(shape *document.Shape, schema map[string]any, at location) {
	set := func(flag *bool, keyword string) {
		if on, ok := schema[keyword].(bool); ok {
			*flag = on
		}
	}
	set(&shape.ReadOnly, "readOnly")
	set(&shape.WriteOnly, "writeOnly")
	set(&shape.Secret, "x-secret")
	set(&shape.Immutable, "x-immutable")
	set(&shape.Complete, "x-complete")
	set(&shape.UniqueItems, "uniqueItems")
	set(&shape.Derived, "x-derived")
	if list, ok := schema["x-lookup"].(string); ok {
		shape.Lookup = list
	}
	if schema["format"] == "date-time" {
		shape.Time = true
	}
	if value, ok := schema["default"]; ok {
		shape.Default, shape.HasDefault = value, true
	}
	if transitions, ok := schema["x-transitions"].(map[string]any); ok {
		shape.Transitions = map[string][]string{}
		for from, to := range transitions {
			shape.Transitions[from] = stringList(to)
		}
	}
	switch ref := schema["x-ref"].(type) {
	case string:
		shape.Ref = &document.Reference{Type: ref}
	case map[string]any:
		shape.Ref = &document.Reference{}
		shape.Ref.Type, _ = ref["type"].(string)
		shape.Ref.Network, _ = ref["network"].(string)
		shape.Ref.Object = ref["form"] == "object"
		if where, ok := ref["where"].(map[string]any); ok {
			shape.Ref.Where = map[string]string{}
			for name, value := range where {
				shape.Ref.Where[name], _ = value.(string)
			}
		}
	}
	if shape.Ref != nil && schema["x-ref"] != nil {
		s.refs[shape.Ref] = at.in("x-ref")
	}
}

// adopt adds what another schema says of the same value.
func adopt(shape, other *document.Shape) {
	for _, name := range other.Types {
		if !shape.Is(name) {
			shape.Types = append(shape.Types, name)
		}
	}
	if other.Ref != nil {
		shape.Ref = other.Ref
	}
	if other.Lookup != "" {
		shape.Lookup = other.Lookup
	}
	if other.HasDefault && !shape.HasDefault {
		shape.Default, shape.HasDefault = other.Default, true
	}
	if other.Transitions != nil {
		shape.Transitions = other.Transitions
	}
	shape.Time = shape.Time || other.Time
	shape.ReadOnly = shape.ReadOnly || other.ReadOnly
	shape.WriteOnly = shape.WriteOnly || other.WriteOnly
	shape.Secret = shape.Secret || other.Secret
	shape.Immutable = shape.Immutable || other.Immutable
	shape.Complete = shape.Complete || other.Complete
	shape.UniqueItems = shape.UniqueItems || other.UniqueItems
	shape.Derived = shape.Derived || other.Derived
}

const (
	notReached = "a schema can refer to files of its folder and of common/ only"
	refCure    = "refer to #/… in this file, or to a file of common/"
)

// resolve finds the file and the pointer of a $ref; text says why it cannot.
func (l *loader) resolve(f *file, ref string) (target *file, pointer, text string) {
	base, fragment, _ := strings.Cut(ref, "#")
	target = f
	if base != "" {
		if strings.Contains(base, ":") || strings.HasPrefix(base, "/") {
			return nil, "", notReached
		}
		name := path.Join(path.Dir(strings.TrimPrefix(f.url, baseURL)), base)
		if target = l.files[baseURL+name]; target == nil {
			return nil, "", "there is no file " + name
		}
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return nil, "", "only JSON Pointers are understood behind #"
	}
	if schemaAt(target.content, pointer) == nil {
		return nil, "", "there is no schema at " + ref
	}
	return target, pointer, ""
}

// mark sets what speaks of a shape and all below it. It reports whether it
// could: a complete object that holds itself has no empty form.
func mark(root *document.Shape) bool {
	all := map[*document.Shape]bool{}
	collectShapes(root, all)
	for shape := range all {
		shape.Whole = nil
		for name, member := range shape.Properties {
			if member.Complete {
				shape.Whole = append(shape.Whole, name)
			}
		}
		slices.Sort(shape.Whole)
		shape.HasSecrets, shape.HasLookups = shape.Secret, shape.Lookup != ""
		shape.Plain = !shape.Secret && !shape.WriteOnly && !shape.Complete && shape.Ref == nil && !shape.HasLookups
		if shape.Complete {
			left := maxPlaces
			if anyChild(shape, func(child *document.Shape) bool { return !fits(child, &left) }) {
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
		for shape := range all {
			if !shape.HasSecrets && anyChild(shape, func(child *document.Shape) bool { return child.HasSecrets }) {
				shape.HasSecrets, changed = true, true
			}
			if !shape.HasLookups && anyChild(shape, func(child *document.Shape) bool { return child.HasLookups }) {
				shape.HasLookups, changed = true, true
			}
			if shape.Plain && anyChild(shape, func(child *document.Shape) bool { return !child.Plain }) {
				shape.Plain, changed = false, true
			}
		}
	}
	return true
}

func collectShapes(shape *document.Shape, all map[*document.Shape]bool) {
	if shape == document.AnyShape || all[shape] {
		return
	}
	all[shape] = true
	anyChild(shape, func(child *document.Shape) bool {
		collectShapes(child, all)
		return false
	})
}

func anyChild(shape *document.Shape, test func(*document.Shape) bool) bool {
	for _, child := range shape.Properties {
		if test(child) {
			return true
		}
	}
	return shape.Extra != nil && test(shape.Extra) || shape.Items != nil && test(shape.Items)
}

func stringList(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		list := make([]string, 0, len(v))
		for _, item := range v {
			if s, ok := item.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}
