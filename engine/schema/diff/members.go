package diff

import (
	"maps"
	"regexp"
	"slices"
	"strconv"

	"marquee/engine/document"
)

// names returns the declared members.
func (v value) names() (names []string) {
	for _, s := range v.all("properties") {
		members, _ := s.value.(map[string]any)
		names = slices.AppendSeq(names, maps.Keys(members))
	}
	return names
}

// declares reports whether a member is declared by its name.
func (v value) declares(name string) bool {
	return slices.ContainsFunc(v.schemas, func(p located) bool {
		members, _ := p.keywords["properties"].(map[string]any)
		_, there := members[name]
		return there
	})
}

// knows reports whether a member is kept, and not dropped or refused as unknown.
func (v value) knows(name string) bool { return v.shape == nil || v.shape.Member(name) != nil }

// member returns the schemas of a member.
func (s *side) member(v value, name string) value {
	var at []place
	for _, p := range v.schemas {
		members, _ := p.keywords["properties"].(map[string]any)
		_, declared := members[name]
		if declared {
			at = append(at, p.in("properties", name))
		}
		patterns, _ := p.keywords["patternProperties"].(map[string]any)
		for pattern := range patterns {
			if matches(pattern, name) {
				at, declared = append(at, p.in("patternProperties", pattern)), true
			}
		}
		if _, there := p.keywords["additionalProperties"]; there && !declared {
			at = append(at, p.in("additionalProperties"))
		}
	}
	member := s.value(nil, at...)
	if v.shape != nil {
		member.shape = v.shape.Member(name)
	}
	return member
}

func matches(pattern, name string) bool {
	compiled, err := regexp.Compile(pattern)
	return err == nil && compiled.MatchString(name)
}

// required returns the members that must be there.
func (v value) required() (names []string) {
	for _, s := range v.all("required") {
		list, _ := s.value.([]any)
		for _, item := range list {
			if name, is := item.(string); is {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// supplied reports whether the service gives a member a value that a client leaves out.
func (v value) supplied() bool {
	return slices.ContainsFunc([]string{"default", "x-default", "x-sequence"}, func(keyword string) bool { return len(v.all(keyword)) > 0 })
}

// members compares the members of an object.
func (c *comparison) members(old, new value) {
	names := slices.Concat(old.names(), new.names())
	for _, shape := range []*document.Shape{old.shape, new.shape} {
		if shape != nil { // members that only a branch declares
			names = slices.AppendSeq(names, maps.Keys(shape.Properties))
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		before, after := c.old.member(old, name), c.new.member(new, name)
		switch {
		case !old.knows(name): // nothing is stored under the name
		case !new.knows(name):
			written := old.written(name)
			c.removed(old, name, before)
			if new.of != nil && new.knows(new.of.StoredName(written)) { // what clients now call so
				c.within(new, new.of.StoredName(written), before, c.new.member(new, new.of.StoredName(written)))
			}
		default:
			if old.declares(name) && !new.declares(name) {
				c.report("property-undeclared", []Class{Source}, before.first(), "the property "+old.written(name)+" is no longer declared by name", "keep it")
			}
			c.within(new, name, before, after)
		}
	}
	c.compareRequired(old, new)
	c.others(old, new)
	c.patterns(old, new)
}

// removed reports a member that is no longer declared.
func (c *comparison) removed(old value, name string, before value) {
	classes, what, cure := []Class{Stored, Request, Source}, "are lost with the next write of the object or array around them", "keep the property"
	if slices.Contains(old.required(), name) {
		classes = Classes
	}
	if old.of != nil {
		what, cure = "can no longer be read", "keep the property, or name it in x-was of another one"
	}
	c.report("property-removed", classes, before.first(), "the property "+old.written(name)+" is removed: its stored values "+what+", and clients that send it are warned or refused", cure)
}

func (c *comparison) compareRequired(old, new value) {
	before, after := old.required(), new.required()
	at := placeOf(old, new, "required")
	for _, name := range after {
		member, was := c.new.member(new, name), c.old.member(old, name)
		switch {
		case slices.Contains(before, name):
			if was.supplied() && !member.supplied() {
				c.report("default-removed", []Class{Request}, member.first(), "the property "+new.written(name)+" is required, and the service no longer supplies a value", "keep the default")
			}
		case new.shape != nil && slices.Contains(new.shape.Fills, name): // which stored objects get, too
			if c.judged || new.judges(name, append([]string{"dependentRequired"}, judging...)...) || new.judges("", "maxProperties", "propertyNames", "unevaluatedProperties") {
				c.undecided("property-required", at, "the property "+new.written(name)+" is required, and whether stored objects can get its default is not decided")
			}
		case member.supplied():
			c.report("property-required", []Class{Stored}, at, "the property "+new.written(name)+" is required, and stored objects may lack it", "set it in all objects first")
		default:
			c.report("property-required", narrowed, at, "the property "+new.written(name)+" is required, and stored objects and clients may leave it out", "set it in all objects first, and give it a default")
		}
	}
	for _, name := range before {
		if !slices.Contains(after, name) && (new.knows(name) || !old.declares(name)) {
			c.report("property-optional", widened, at, "the property "+new.written(name)+" is no longer required, so readers may not receive it", "")
		}
	}
}

// undeclared is the name of a member that no schema declares.
const undeclared = "\x00undeclared"

// others compares the members that are not declared by name.
func (c *comparison) others(old, new value) {
	before, after := c.old.member(old, undeclared), c.new.member(new, undeclared)
	at := placeOf(old, new, "additionalProperties")
	switch knew, knows := old.knows(undeclared) && !before.never(), new.knows(undeclared) && !after.never(); {
	case knew && knows:
		c.within(new, "", before, after)
	case knew:
		c.report("members-closed", narrowed, at, "members that are not declared are no longer kept", "declare the members that are in use")
	case knows:
		c.report("members-opened", widened, at, "members that are not declared are kept and returned", "")
	case after.never() && !before.never():
		c.report("members-refused", []Class{Request}, at, "members that are not declared are refused, and were dropped", "")
	}
}

// patterns compares members by the patterns of their names.
func (c *comparison) patterns(old, new value) {
	before, after := byPattern(old), byPattern(new)
	for _, pattern := range slices.Sorted(maps.Keys(before)) {
		if after[pattern] == nil {
			c.undecided("pattern-removed", before[pattern][0], "the members that match "+strconv.Quote(pattern)+" are described in another way")
			continue
		}
		c.within(new, "", c.old.value(nil, before[pattern]...), c.new.value(nil, after[pattern]...))
	}
	for _, pattern := range slices.Sorted(maps.Keys(after)) {
		if before[pattern] == nil {
			c.undecided("pattern-added", after[pattern][0], "the members that match "+strconv.Quote(pattern)+" are described in another way")
		}
	}
}

func byPattern(v value) map[string][]place {
	found := map[string][]place{}
	for _, s := range v.all("patternProperties") {
		patterns, _ := s.value.(map[string]any)
		for pattern := range patterns {
			found[pattern] = append(found[pattern], s.at.in(pattern))
		}
	}
	return found
}

// items compares the items of an array.
func (c *comparison) items(old, new value) {
	for i := range max(old.prefix(), new.prefix()) + 1 { // the last one is any other item
		c.within(new, "", c.old.item(old, i), c.new.item(new, i))
	}
}

// prefix returns the number of first items that have schemas of their own.
func (v value) prefix() (n int) {
	for _, s := range v.all("prefixItems") {
		list, _ := s.value.([]any)
		n = max(n, len(list))
	}
	return n
}

// item returns the schemas of an item.
func (s *side) item(v value, i int) value {
	var at []place
	for _, p := range v.schemas {
		first, _ := p.keywords["prefixItems"].([]any)
		_, there := p.keywords["items"]
		switch {
		case i < len(first):
			at = append(at, p.in("prefixItems", strconv.Itoa(i)))
		case there:
			at = append(at, p.in("items"))
		}
	}
	item := s.value(nil, at...)
	if v.shape != nil {
		item.shape = v.shape.Item(i)
	}
	return item
}
