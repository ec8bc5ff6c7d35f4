package schema

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/keyword"
)

// omissions are the faulty parts that were removed from files to find further
// faults. A load with omissions always fails.
type omissions struct {
	// copied are the files whose content has been copied.
	copied map[*File]bool
	// at are the omitted locations, around the locations within rules that contain
	// one.
	at, around map[location]bool
	// changed are the schemas from which a keyword was removed, uncertain those
	// that may describe a different value without it: problems that depend on them
	// are not reported.
	changed, uncertain map[location]bool
	// altered are the schemas that apply or refer to a changed one: they may reject
	// values that they accepted.
	altered map[location]bool
}

// leaveOutFaults removes the faults found so far from the files, and every $ref that does
// not lead to a schema.
func (l *loader) leaveOutFaults() {
	l.omitted = omissions{
		copied: map[*File]bool{}, at: map[location]bool{}, around: map[location]bool{},
		changed: map[location]bool{}, uncertain: map[location]bool{}, altered: map[location]bool{},
	}
	for _, at := range l.faults {
		l.leaveOut(at)
	}
	for _, f := range l.sound() {
		var unreached []string
		walkFile(f, func(at string, schema map[string]any) {
			if ref, ok := schema["$ref"].(string); ok {
				if target, _, text := l.resolve(f, ref); text != "" || l.unsound[target] {
					unreached = append(unreached, at+"/$ref")
				}
			}
		})
		for _, pointer := range unreached {
			l.leaveOut(location{f, pointer})
		}
	}
	if len(l.omitted.changed) > 0 {
		l.addUsers()
	}
}

// certain reports whether a schema accepts every value that it accepted before the
// omissions.
func (o omissions) certain(at location) bool { return !o.uncertain[at] && !o.altered[at] }

// leaveOut removes the part at a location: a whole keyword of a schema, or a
// member or an entry of a rule.
func (l *loader) leaveOut(where location) {
	f := where.f
	if l.unsound[f] || f.Content == nil || where.pointer == "" {
		return
	}
	if !l.omitted.copied[f] {
		f.Content, _ = document.Clone(f.Content).(map[string]any)
		l.omitted.copied[f] = true
	}
	l.omitted.at[where] = true
	if when, rest, found := strings.Cut(where.pointer, "/when/"); found && inRule(when) {
		if schema, ok := document.Lookup(f.Content, when+"/when").(map[string]any); ok {
			l.leaveOutKeyword(location{f, when + "/when"}, schema, "/"+rest)
			return
		}
	}
	if inRule(where.pointer) {
		for at := where.pointer; at != ""; at = at[:strings.LastIndexByte(at, '/')] {
			l.omitted.around[location{f, at}] = true
		}
		withoutMember(f.Content, where.pointer)
		return
	}
	if where.pointer == "/type" && !f.Common {
		f.Content["type"] = "object" // the only possible type
		return
	}
	l.leaveOutKeyword(location{f, ""}, f.Content, where.pointer)
}

// leaveOutKeyword removes the keyword at a pointer from a schema, or replaces a
// value that is not a schema by an empty schema.
func (l *loader) leaveOutKeyword(where location, schema map[string]any, pointer string) {
	keyword, rest := dialect.CutToken(pointer)
	below := where.in(keyword)
	var inner any
	put := func(any) {}
	switch dialect.FormOf(keyword) {
	case dialect.OneSchema:
		inner, put = schema[keyword], func(value any) { schema[keyword] = value }
	case dialect.SchemaList:
		list, ok := schema[keyword].([]any)
		name, after := dialect.CutToken(rest)
		if i, err := strconv.Atoi(name); ok && rest != "" && err == nil && i >= 0 && i < len(list) {
			inner, put, below, rest = list[i], func(value any) { list[i] = value }, below.in(name), after
		}
	case dialect.SchemaNames:
		named, ok := schema[keyword].(map[string]any)
		name, after := dialect.CutToken(rest)
		_, valid := regexp.Compile(name)
		switch {
		case ok && keyword == "patternProperties" && valid != nil:
			delete(named, name)
			l.omitted.changed[where], l.omitted.uncertain[where] = true, true
			return
		case ok && rest != "":
			inner, put, below, rest = named[name], func(value any) { named[name] = value }, below.in(name), after
		}
	}
	switch members, is := inner.(map[string]any); {
	case is && rest != "":
		l.leaveOutKeyword(below, members, rest)
	case inner != nil:
		put(map[string]any{})
		l.omitted.changed[below], l.omitted.uncertain[below] = true, true
	default:
		delete(schema, keyword)
		l.omitted.changed[where] = true
		if describes(keyword) {
			l.omitted.uncertain[where] = true
		}
	}
}

// describes reports whether a keyword determines the kind of a value or how the
// engine treats it, rather than restricting the value.
func describes(keyword string) bool {
	return dialect.FormOf(keyword) != dialect.NoSchema || strings.HasPrefix(keyword, "x-") || slices.Contains([]string{"$ref", "type", "enum", "const", "format"}, keyword)
}

// withoutMember removes a member of an object. An item of an array is replaced by
// an empty string, so that the other items keep their indexes.
func withoutMember(value any, pointer string) {
	name, rest := dialect.CutToken(pointer)
	switch v := value.(type) {
	case map[string]any:
		if rest == "" {
			delete(v, name)
			return
		}
		withoutMember(v[name], rest)
	case []any:
		i, err := strconv.Atoi(name)
		switch {
		case err != nil || i < 0 || i >= len(v):
		case rest == "":
			v[i] = ""
		default:
			withoutMember(v[i], rest)
		}
	}
}

// covers reports whether a problem at a location would be a consequence of an
// omission there, or of one in a rule around or within it.
func (o omissions) covers(f *File, pointer string) bool {
	if o.at[location{f, pointer}] {
		return true
	}
	if !inRule(pointer) {
		return false
	}
	for at := pointer; at != ""; at = at[:strings.LastIndexByte(at, '/')] {
		if o.at[location{f, at}] {
			return true
		}
	}
	return o.around[location{f, pointer}]
}

// inRule reports whether a location is in a keyword of a type that contains no
// schema.
func inRule(pointer string) bool {
	name, _ := dialect.CutToken(pointer)
	k := keyword.Named(name)
	return k != nil && k.OfType()
}

// uncertain reports whether a keyword that describes a value was removed.
func (s *shapes) uncertain(shape *document.Shape) bool {
	return slices.ContainsFunc(s.places[shape], func(p subschema) bool { return s.l.omitted.uncertain[p.location] })
}

// uncertain reports whether a keyword was removed that describes the value at a
// dotted path or a value around it.
func (c *typeLint) uncertain(path string) bool {
	shape := c.t.Shape
	for _, name := range strings.Split(path, ".") {
		if c.l.shapes.uncertain(shape) {
			return true
		}
		if shape = shape.Member(name); shape == nil {
			return false
		}
		if shape.Element != nil && !c.l.shapes.uncertain(shape) {
			shape = shape.Element
		}
	}
	return c.l.shapes.uncertain(shape)
}

// addUsers finds the schemas that directly or indirectly apply or refer to a changed
// one.
func (l *loader) addUsers() {
	users := map[location][]location{}
	for _, f := range l.sound() {
		walkFile(f, func(at string, schema map[string]any) {
			user := location{f, at}
			for keyword, value := range schema {
				dialect.Applied(keyword, value, func(below string, _ any) {
					used := location{f, at + below}
					users[used] = append(users[used], user)
				})
			}
			ref, ok := schema["$ref"].(string)
			if target, pointer, text := l.resolve(f, ref); ok && text == "" {
				used := location{target, pointer}
				users[used] = append(users[used], user)
			}
		})
	}
	changed := slices.Collect(maps.Keys(l.omitted.changed))
	for len(changed) > 0 {
		used := changed[len(changed)-1]
		changed = changed[:len(changed)-1]
		for _, user := range users[used] {
			if !l.omitted.altered[user] {
				l.omitted.altered[user] = true
				changed = append(changed, user)
			}
		}
	}
}
