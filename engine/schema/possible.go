package schema

import (
	"cmp"
	"slices"
	"strconv"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
)

// kindSet is a set of JSON types (kindNames), one bit each.
type kindSet uint

const anyKind kindSet = 1<<6 - 1

var kindNames = []string{"array", "boolean", "number", "object", "string", "null"}

func kindSetOf(names []string) (k kindSet) {
	for _, name := range names {
		if name == "integer" {
			name = "number"
		}
		if i := slices.Index(kindNames, name); i >= 0 {
			k |= 1 << i
		}
	}
	return k
}

// possible returns the JSON types that the schemas of a value leave possible (Shape.Possible).
// Those that apply in some case are taken for all the cases that there are, unless one applies
// to a condition, or to one outcome of it alone.
func (s *shapes) possible(places []subschema) []string {
	possible, cases, loose := anyKind, kindSet(0), false
	for _, p := range places {
		switch {
		case p.always:
			possible &= s.kinds(p.location)
		case p.loose || p.some:
			loose = true
		default:
			cases |= s.kinds(p.location)
		}
	}
	if !loose && cases != 0 {
		possible &= cases
	}
	if possible|kindSetOf([]string{"null"}) == anyKind {
		return nil
	}
	names := []string{}
	for i, name := range kindNames[:5] {
		if possible&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// kinds returns the types of values that a schema may accept: all of those that it does accept,
// and others where that depends on more than the type.
func (s *shapes) kinds(where location) kindSet {
	if k, known := s.possibles[where]; known {
		return k
	}
	s.possibles[where] = anyKind // for a schema that refers to itself
	k := anyKind
	switch schema := document.Lookup(where.f.Content, where.pointer).(type) {
	case bool:
		if !schema {
			k = 0
		}
	case map[string]any:
		k = s.kindsOf(where, schema)
	}
	s.possibles[where] = k
	return k
}

func (s *shapes) kindsOf(where location, schema map[string]any) kindSet {
	k := anyKind
	if types := keyword.Strings(schema["type"]); len(types) > 0 {
		k = kindSetOf(types)
	}
	values, listed := schema["enum"].([]any)
	if value, one := schema["const"]; one {
		values, listed = []any{value}, true
	}
	if listed {
		var names []string
		for _, value := range values {
			names = append(names, cmp.Or(document.KindOf(value), "null"))
		}
		k &= kindSetOf(names)
	}
	if ref, is := schema["$ref"].(string); is {
		if f, pointer, text := s.l.resolve(where.f, ref); text == "" {
			k &= s.kinds(location{f, pointer})
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		branches, is := schema[name].([]any)
		either := kindSet(0)
		for i := range branches {
			of := s.kinds(where.in(name, strconv.Itoa(i)))
			if either |= of; name == "allOf" {
				k &= of
			}
		}
		if is && name != "allOf" {
			k &= either
		}
	}
	if _, is := schema["if"]; is {
		// An absent then or else accepts everything.
		k &= s.kinds(where.in("if"))&s.kinds(where.in("then")) | s.kinds(where.in("else"))
	}
	if not, _ := schema["not"].(map[string]any); len(not) == 1 {
		types := slices.DeleteFunc(slices.Clone(keyword.Strings(not["type"])), func(name string) bool { return name == "integer" }) // which leaves numbers
		k &^= kindSetOf(types)
	}
	return k
}
