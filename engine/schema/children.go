package schema

import (
	"maps"
	"math/bits"
	"regexp"
	"slices"
	"strconv"

	"marquee/engine/document"
)

// maxPatterns is the maximum number of patterns for the members of one object: a
// name can match any combination of them.
const maxPatterns = 6

// members compiles the keywords for members.
func (s *shapes) members(shape *document.Shape, all []subschema) {
	declared, patterns := map[string]bool{}, map[string]bool{}
	closed, open := false, false
	for _, p := range all {
		schema := p.schema()
		properties, declares := schema["properties"].(map[string]any)
		for name := range properties {
			declared[name] = true
		}
		matching, matches := schema["patternProperties"].(map[string]any)
		for pattern := range matching {
			patterns[pattern] = true
		}
		closed = closed || p.closes && (declares || matches)
		for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
			if others, ok := schema[keyword].(bool); ok {
				open, closed = open || others, closed || p.closes && !others
			}
		}
	}
	names := s.patterns(shape, all[0], slices.Sorted(maps.Keys(patterns)))
	if closed || len(declared) > 0 {
		shape.Properties = make(map[string]*document.Shape, len(declared))
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		shape.Properties[name] = s.of(s.member(all, name, true, names.matching(name))...)
	}
	if len(names) > 0 {
		shape.Matching = make([]*document.Shape, 1<<len(names))
		for matched := 1; matched < len(shape.Matching); matched++ {
			member := s.of(s.member(all, "", false, names.of(matched))...)
			// A name that matches contradictory patterns is unknown.
			if bits.OnesCount(uint(matched)) == 1 || len(s.conflicts(member)) == 0 {
				shape.Matching[matched] = member
			}
		}
	}
	switch extra := s.member(all, "", false, nil); {
	case len(extra) > 0:
		shape.Extra = s.of(extra...)
	case open, !closed && (len(declared) > 0 || len(names) > 0):
		shape.Extra = document.AnyShape
	}
}

// patternList is the list of patterns for the names of members.
type patternList []*regexp.Regexp

// patterns compiles the patterns and sets them in the shape.
func (s *shapes) patterns(shape *document.Shape, where subschema, texts []string) patternList {
	if len(texts) > maxPatterns {
		s.l.problem(where.f, where.pointer, "one object has more than "+strconv.Itoa(maxPatterns)+" different patternProperties",
			"combine several into one: ^(a|b)")
		return nil
	}
	for _, text := range texts {
		if pattern, err := regexp.Compile(text); err == nil { // others are a problem already
			shape.Patterns = append(shape.Patterns, pattern)
		}
	}
	return shape.Patterns
}

// matching returns the set of patterns that a name matches.
func (l patternList) matching(name string) map[string]bool {
	set := map[string]bool{}
	for _, pattern := range l {
		set[pattern.String()] = pattern.MatchString(name)
	}
	return set
}

// of returns the set of patterns whose bits are set.
func (l patternList) of(matched int) map[string]bool {
	set := map[string]bool{}
	for i, pattern := range l {
		set[pattern.String()] = matched&(1<<i) != 0
	}
	return set
}

// member returns the schemas that apply to a declared member or, for other names,
// to a member that matches a set of patterns.
func (s *shapes) member(all []subschema, name string, declared bool, matched map[string]bool) []subschema {
	var list []subschema
	for _, p := range all {
		schema := p.schema()
		own := ownMember(schema, name, declared, matched)
		for _, tokens := range own {
			list = append(list, p.in(tokens...))
		}
		if _, is := schema["additionalProperties"].(map[string]any); is && len(own) == 0 {
			list = append(list, p.in("additionalProperties"))
		}
		if _, is := schema["unevaluatedProperties"].(map[string]any); is && !s.evaluates(p, name, declared, matched) {
			list = append(list, p.in("unevaluatedProperties"))
		}
	}
	return list
}

// ownMember returns the pointer to a schema's declaration of a member.
func ownMember(schema map[string]any, name string, declared bool, matched map[string]bool) [][]string {
	var own [][]string
	properties, _ := schema["properties"].(map[string]any)
	if _, there := properties[name]; there && declared {
		own = append(own, []string{"properties", name})
	}
	patterns, _ := schema["patternProperties"].(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if matched[pattern] {
			own = append(own, []string{"patternProperties", pattern})
		}
	}
	return own
}

// evaluates reports whether a member is always evaluated, so that an adjacent
// unevaluatedProperties does not apply to it.
func (s *shapes) evaluates(p subschema, name string, declared bool, matched map[string]bool) bool {
	p.always = true
	return slices.ContainsFunc(s.closure([]subschema{p}), func(beside subschema) bool {
		schema := beside.schema()
		_, additional := schema["additionalProperties"]
		return beside.always && (additional || len(ownMember(schema, name, declared, matched)) > 0)
	})
}

// items compiles the keywords for items.
func (s *shapes) items(shape *document.Shape, all []subschema) {
	prefix := 0
	for _, p := range all {
		first, _ := p.schema()["prefixItems"].([]any)
		prefix = max(prefix, len(first))
	}
	var any []subschema
	for i := range prefix {
		own := s.item(all, i)
		shape.Prefix = append(shape.Prefix, s.of(own...))
		any = append(any, own...)
	}
	if rest := s.item(all, prefix); len(rest) > 0 {
		shape.Items = s.of(rest...)
		any = append(any, rest...)
	}
	shape.Element = shape.Items
	if prefix > 0 && len(any) > 0 {
		shape.Element = s.of(any...)
	}
}

// item returns the schemas that apply to the item at an index.
func (s *shapes) item(all []subschema, i int) []subschema {
	var list []subschema
	for _, p := range all {
		schema := p.schema()
		first, _ := schema["prefixItems"].([]any)
		_, rest := schema["items"].(map[string]any)
		switch {
		case i < len(first):
			list = append(list, p.in("prefixItems", strconv.Itoa(i)))
		case rest:
			list = append(list, p.in("items"))
		}
		if _, is := schema["contains"].(map[string]any); is {
			some := p.in("contains")
			some.always, some.closes, some.some = false, false, true
			list = append(list, some)
		}
		if _, is := schema["unevaluatedItems"].(map[string]any); is && !s.evaluatesItem(p, i) {
			list = append(list, p.in("unevaluatedItems"))
		}
	}
	return list
}

// evaluatesItem reports whether an item is always evaluated, so that an adjacent
// unevaluatedItems does not apply to it.
func (s *shapes) evaluatesItem(p subschema, i int) bool {
	p.always = true
	return slices.ContainsFunc(s.closure([]subschema{p}), func(beside subschema) bool {
		schema := beside.schema()
		first, _ := schema["prefixItems"].([]any)
		_, rest := schema["items"]
		return beside.always && (rest || i < len(first))
	})
}
