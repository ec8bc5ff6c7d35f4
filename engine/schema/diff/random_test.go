package diff_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/schema/diff"
)

// maker generates schemas, changes of them, and documents, which are close enough to each
// other that many documents contradict a change.
type maker struct{ *rand.Rand }

func (m maker) pick(list ...string) string { return list[m.IntN(len(list))] }

func (m maker) schema(depth int) map[string]any {
	s := map[string]any{}
	for range 1 + m.IntN(3) {
		m.keyword(s, depth)
	}
	return s
}

// keyword sets a keyword of a schema.
func (m maker) keyword(s map[string]any, depth int) {
	n := m.IntN(17)
	if depth == 0 {
		n = m.IntN(8)
	}
	switch n {
	case 0, 1:
		s["type"] = m.pick("string", "integer", "number", "boolean", "array", "object", "object")
	case 2:
		s["type"] = []any{m.pick("string", "integer"), m.pick("object", "null")}
	case 3:
		s["enum"] = []any{m.scalar(), m.scalar(), m.scalar()}
	case 4:
		s[m.pick("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")] = int64(m.IntN(4))
	case 5:
		s[m.pick("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")] = int64(m.IntN(3))
	case 6:
		s["pattern"] = m.pick("^a", "b$", "a")
	case 7:
		s["$ref"] = "#/$defs/" + m.pick("p", "q")
	case 8, 9, 10:
		members := map[string]any{}
		for range 1 + m.IntN(3) {
			members[m.pick("a", "b", "c")] = m.schema(depth - 1)
		}
		if m.IntN(4) == 0 {
			members[m.pick("a", "b", "c")] = m.IntN(2) > 0
		}
		s["type"], s["properties"] = "object", members
	case 11:
		s["required"] = []any{m.pick("a", "b", "c")}
	case 12:
		s["type"], s["items"] = "array", m.schema(depth-1)
	case 13:
		s[m.pick("anyOf", "oneOf", "allOf", "prefixItems")] = []any{m.schema(depth - 1), m.schema(depth - 1)}
	case 14:
		s[m.pick("not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties")] = m.schema(depth - 1)
	case 15:
		if s["additionalProperties"] = any(false); m.IntN(2) > 0 {
			s["additionalProperties"] = m.schema(depth - 1)
		}
	case 16:
		s[m.pick("patternProperties", "dependentSchemas")] = map[string]any{m.pick("a", "b"): m.schema(depth - 1)}
	}
}

func (m maker) scalar() any {
	switch m.IntN(4) {
	case 0:
		return int64(m.IntN(4))
	case 1:
		return m.IntN(2) > 0
	}
	return m.pick("", "a", "b", "ab", "ba")
}

func (m maker) document(depth int) any {
	switch n := m.IntN(6); {
	case n < 3 && depth > 0:
		members := map[string]any{}
		for range m.IntN(4) {
			members[m.pick("a", "b", "c")] = m.document(depth - 1)
		}
		return members
	case n == 3 && depth > 0:
		list := []any{}
		for range m.IntN(3) {
			list = append(list, m.document(depth-1))
		}
		return list
	}
	return m.scalar()
}

// change changes a keyword somewhere in a schema.
func (m maker) change(s map[string]any, depth int) {
	var below []map[string]any
	collect := func(value any) {
		if inner, is := value.(map[string]any); is {
			below = append(below, inner)
		}
	}
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		switch v := s[keyword].(type) {
		case []any:
			for _, item := range v {
				collect(item)
			}
		case map[string]any:
			collect(v)
			for _, name := range slices.Sorted(maps.Keys(v)) {
				collect(v[name])
			}
		}
	}
	if len(below) > 0 && m.IntN(3) > 0 {
		m.change(below[m.IntN(len(below))], max(depth-1, 0))
		return
	}
	if m.IntN(2) > 0 {
		for _, name := range m.shuffled(s) {
			if name != "x-resource" && name != "$schema" && name != "$defs" && (name != "type" || depth < 3) {
				delete(s, name)
				break
			}
		}
	}
	if m.IntN(3) > 0 {
		m.keyword(s, depth)
	}
}

// shuffled returns the names of members in a random order.
func (m maker) shuffled(object map[string]any) []string {
	names := slices.Sorted(maps.Keys(object))
	m.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// evolve changes a type: as change does, or in ways that keep what is stored. Now and then, these
// are not done well.
func (m maker) evolve(s map[string]any) {
	switch m.IntN(10) {
	case 0, 1:
		m.rename(s)
	case 2, 3:
		m.renameValue(s)
	case 4:
		m.require(s)
	case 5:
		s[m.pick("propertyNames", "not", "if")] = map[string]any{m.pick("maxLength", "maxProperties"): int64(1), "propertyNames": map[string]any{"enum": []any{"a", "b", m.pick("c", "d")}}}
	default:
		m.change(s, 3)
	}
}

// rename gives a property of the object another name.
func (m maker) rename(s map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	for _, name := range m.shuffled(properties) {
		to := m.pick("a", "b", "c", "d", "e")
		property, is := properties[name].(map[string]any)
		if _, taken := properties[to]; taken || !is {
			continue
		}
		former, _ := property["x-was"].([]any)
		delete(properties, name)
		properties[to] = property
		switch m.IntN(8) {
		case 0:
			delete(property, "x-was")
		case 1:
			property["x-was"] = []any{name}
		default:
			property["x-was"] = append(slices.Clone(former), name)
		}
		if m.IntN(4) > 0 {
			follow(s, name, to)
		}
		return
	}
}

// follow gives a property another name wherever a schema of the object mentions it.
func follow(s map[string]any, name, to string) {
	within := func(value any) {
		if inner, is := value.(map[string]any); is {
			if properties, is := inner["properties"].(map[string]any); is {
				if property, is := properties[name]; is {
					delete(properties, name)
					properties[to] = property
				}
			}
			follow(inner, name, to)
		}
	}
	for keyword, value := range s {
		list, _ := value.([]any)
		switch keyword {
		case "required":
			for i, item := range list {
				if item == name {
					list[i] = to
				}
			}
		case "if", "then", "else", "not":
			within(value)
		case "anyOf", "oneOf", "allOf":
			for _, branch := range list {
				within(branch)
			}
		case "dependentSchemas":
			of, _ := value.(map[string]any)
			if schema, is := of[name]; is {
				delete(of, name)
				of[to] = schema
			}
			for _, schema := range of {
				within(schema)
			}
		}
	}
}

// property returns a random property with its name and the object that has it, at most some
// levels down.
func (m maker) property(s map[string]any, depth int) (object map[string]any, name string, property map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	for _, name := range m.shuffled(properties) {
		if property, is := properties[name].(map[string]any); is {
			if depth > 0 && m.IntN(2) > 0 {
				if object, below, inner := m.property(property, depth-1); inner != nil {
					return object, below, inner
				}
			}
			return s, name, property
		}
	}
	return nil, "", nil
}

// renameValue renames a value of an enum.
func (m maker) renameValue(s map[string]any) {
	_, _, property := m.property(s, 2)
	if property == nil {
		return
	}
	list, _ := property["enum"].([]any)
	if len(list) == 0 {
		property["type"], property["enum"] = "string", []any{"a", "b", "ab"}
		return
	}
	i := m.IntN(len(list))
	from, is := list[i].(string)
	to := m.pick("a", "b", "c", "d")
	if !is || from == to {
		return
	}
	list = slices.Clone(list)
	if list[i] = any(to); m.IntN(4) == 0 {
		list = slices.Delete(list, i, i+1) // whose place one takes that is listed, or not
	}
	property["enum"] = list
	was, _ := property["x-was-values"].(map[string]any)
	was = maps.Clone(was)
	if was == nil {
		was = map[string]any{}
	}
	for former, now := range was {
		if now == from && m.IntN(8) > 0 {
			was[former] = to
		}
	}
	if was[from] = to; m.IntN(8) == 0 {
		delete(was, from)
	}
	if delete(was, to); len(was) == 0 {
		delete(property, "x-was-values")
		return
	}
	property["x-was-values"] = was
}

// require makes a property required, mostly with a default.
func (m maker) require(s map[string]any) {
	object, name, property := m.property(s, 2)
	if property == nil {
		return
	}
	if m.IntN(4) > 0 {
		property["default"] = m.scalar()
		if list, _ := property["enum"].([]any); len(list) > 0 {
			property["default"] = list[m.IntN(len(list))]
		}
	}
	list, _ := object["required"].([]any)
	if object["required"] = append(slices.Clone(list), name); slices.Contains(list, any(name)) {
		object["required"] = list
	}
}

func load(content map[string]any) (*schema.Registry, error) {
	return schema.Load(schema.Source{FS: fstest.MapFS{"things.json": {Data: document.Append(nil, content)}}})
}

func clone(value any) map[string]any {
	object, err := document.DecodeObject(document.Append(nil, value), document.DefaultLimits)
	if err != nil {
		panic(err)
	}
	return object
}

// strip removes the members that a shape does not know, and reports whether there were any.
func strip(shape *document.Shape, value any) (stripped bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if known := shape.Member(name); known == nil {
				delete(v, name)
				stripped = true
			} else {
				stripped = strip(known, member) || stripped
			}
		}
	case []any:
		for i, item := range v {
			if known := shape.Item(i); known != nil {
				stripped = strip(known, item) || stripped
			}
		}
	}
	return stripped
}

// accepts reports whether a type accepts an object, without its defaults.
func accepts(t *testing.T, of *schema.Type, object map[string]any) bool {
	t.Helper()
	faults, err := of.Validate(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	return len(faults) == 0
}

// judge compares what is said of a change with documents.
type judge struct {
	*testing.T
	maker
	old, new *schema.Type
	found    []diff.Difference
	// broken counts documents that the change breaks in some way.
	broken int
}

func (j *judge) says(class diff.Class) bool {
	return slices.ContainsFunc(j.found, func(d diff.Difference) bool { return d.Is(class) })
}

// kept returns an object that a client has sent as a type stores it; drops reports whether
// that leaves something out or is refused.
func kept(of *schema.Type, sent map[string]any) (object map[string]any, drops bool) {
	object = clone(sent)
	of.ToStored(object, func(string, string) { drops = true })
	return object, strip(of.Shape, object) || drops
}

// sent returns a stored object as a client sends it that knows a type, under present and former
// names.
func (j *judge) sent(of *schema.Type, stored map[string]any) map[string]any {
	object := map[string]any{}
	for name, value := range stored {
		names := append(of.FormerNames(name), of.ServedName(name))
		object[j.pick(names...)] = value
	}
	return object
}

// document reports what is wrong with what is said, "" for nothing, for a document.
func (j *judge) document(object map[string]any) string {
	wrong := ""
	breaks := func(class diff.Class, is bool, text string) {
		if !is {
			return
		}
		if j.broken++; !j.says(class) {
			wrong = text
		}
	}
	if stored, _ := kept(j.old, object); true {
		complete, _ := j.old.Shape.Amended(stored, false)
		if accepts(j.T, j.old, complete) {
			request := j.sent(j.old, stored)
			current, _ := j.old.Shape.Current(stored)
			if filled := len(document.Diff(current, complete)) > 0; filled || j.IntN(2) > 0 {
				stored = clone(complete)
			} // else former values have not been replaced yet
			read := clone(stored)
			hides := strip(j.new.Shape, read)
			read, _ = j.new.Shape.Amended(read, false)
			breaks(diff.Stored, hides, "has hidden values")
			breaks(diff.Stored, !hides && !accepts(j.T, j.new, read), "becomes invalid")

			written, drops := kept(j.new, request)
			written, _ = j.new.Shape.Amended(written, false)
			breaks(diff.Request, drops || !accepts(j.T, j.new, written), "is refused or loses something")
		}
	}
	if stored, _ := kept(j.new, object); true {
		stored, _ = j.new.Shape.Amended(stored, false)
		if accepts(j.T, j.new, stored) {
			read, known := clone(j.new.ServedObject(stored)), clone(j.new.ServedObject(stored))
			strip(j.old.Served().Shape, known) // the others are ignored
			breaks(diff.Response, !accepts(j.T, j.old.Served(), read) && !accepts(j.T, j.old.Served(), known), "surprises a reader")
		}
	}
	return wrong
}

// TestRandomChanges looks for documents that contradict what is said of random changes of
// random schemas: what a valid document can break must have been reported, or be undecided.
// MARQUEE_CHANGES is the number of changes, of which two fifths are between sets that can be
// loaded, and compared with 60 documents each.
func TestRandomChanges(t *testing.T) {
	changes := 850
	if text := os.Getenv("MARQUEE_CHANGES"); text != "" {
		changes, _ = strconv.Atoi(text)
	}
	compared, broken, silent, renames, documents, contradicted := 0, 0, 0, 0, 0, 0
	for seed := range uint64(changes) {
		m := maker{rand.New(rand.NewPCG(seed, 11))}
		before := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": map[string]any{"path": "things"},
			"properties": map[string]any{"a": m.schema(3), "b": m.schema(2)}, "$defs": map[string]any{"p": m.schema(2), "q": m.schema(2)}}
		for range m.IntN(3) {
			m.evolve(before)
		}
		after := clone(before)
		for range 1 + m.IntN(2) {
			m.evolve(after)
		}
		old, err := load(before)
		if err != nil {
			continue
		}
		changed, err := load(after)
		if err != nil {
			continue
		}
		compared++
		j := &judge{T: t, maker: m, found: diff.Sets(old, changed)}
		if len(j.found) == 0 {
			silent++
		}
		j.old, _ = old.Type("things")
		j.new, _ = changed.Type("things")
		if j.new.Served() != j.new || j.new.Amendments() != "" {
			renames++
		}
		for range 60 {
			object, is := m.document(4).(map[string]any)
			for !is {
				object, is = m.document(4).(map[string]any)
			}
			for _, name := range m.shuffled(object) {
				if value := object[name]; m.IntN(3) == 0 {
					delete(object, name)
					object[m.pick("a", "b", "c", "d", "e")] = value
				}
			}
			documents++
			if wrong := j.document(object); wrong != "" {
				t.Fatalf("seed %d: %s %s\nold %s\nnew %s\nfound %v", seed, document.Append(nil, object), wrong, document.Append(nil, before), document.Append(nil, after), j.found)
			}
		}
		contradicted += j.broken
		if j.says(diff.Stored) {
			broken++
		}
	}
	t.Logf("%d changes compared with %d documents, %d to sets with renames or defaults, %d break stored objects, nothing is said of %d; %d documents were broken",
		compared, documents, renames, broken, silent, contradicted)
	if compared < changes/4 || silent < compared/10 || renames < compared/4 || contradicted < compared/2 {
		t.Error("too few to show anything")
	}
}
