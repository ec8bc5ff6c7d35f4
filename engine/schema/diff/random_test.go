package diff_test

import (
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
	for _, value := range s {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				collect(item)
			}
		case map[string]any:
			collect(value)
			for _, inner := range v {
				collect(inner)
			}
		}
	}
	if len(below) > 0 && m.IntN(3) > 0 {
		m.change(below[m.IntN(len(below))], max(depth-1, 0))
		return
	}
	if m.IntN(2) > 0 {
		for name := range s {
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

func accepts(t *testing.T, of *schema.Type, object map[string]any) bool {
	t.Helper()
	amended, _ := of.Shape.Amended(object, false)
	faults, err := of.Validate(t.Context(), amended)
	if err != nil {
		t.Fatal(err)
	}
	return len(faults) == 0
}

// TestRandomChanges looks for documents that contradict what is said of random changes of
// random schemas: what a valid document can break must have been reported, or be undecided.
func TestRandomChanges(t *testing.T) {
	changes := 1500
	if text := os.Getenv("MARQUEE_CHANGES"); text != "" {
		changes, _ = strconv.Atoi(text)
	}
	compared, broken, silent, contradicted := 0, 0, 0, 0
	for seed := range uint64(changes) {
		m := maker{rand.New(rand.NewPCG(seed, 11))}
		before := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": map[string]any{"path": "things"},
			"properties": map[string]any{"a": m.schema(3), "b": m.schema(2)}, "$defs": map[string]any{"p": m.schema(2), "q": m.schema(2)}}
		after := clone(before)
		for range 1 + m.IntN(2) {
			m.change(after, 3)
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
		found := diff.Sets(old, changed)
		if len(found) == 0 {
			silent++
		}
		oldType, _ := old.Type("things")
		newType, _ := changed.Type("things")
		said := func(classes ...diff.Class) bool {
			for _, class := range classes {
				if !slices.ContainsFunc(found, func(d diff.Difference) bool { return d.Is(class) }) {
					return false
				}
			}
			return true
		}
		for range 40 {
			object, is := m.document(4).(map[string]any)
			if !is {
				continue
			}
			wrong := ""
			stored := clone(object)
			strip(oldType.Shape, stored)
			if accepts(t, oldType, stored) {
				read := clone(stored)
				hidden := strip(newType.Shape, read)
				fits := accepts(t, newType, read)
				if hidden || !fits {
					contradicted++
				}
				if hidden && !said(diff.Stored) {
					wrong = "has hidden values"
				} else if !fits && !said(diff.Stored, diff.Request) {
					wrong = "becomes invalid"
				}
			}
			sent := clone(object)
			strip(newType.Shape, sent)
			if accepts(t, newType, sent) {
				read := clone(sent)
				strip(oldType.Shape, read)
				if !accepts(t, oldType, read) && !said(diff.Response) {
					wrong, stored = "surprises a reader", read
				}
			}
			if wrong != "" {
				t.Fatalf("seed %d: %s %s\nold %s\nnew %s\nfound %v", seed, document.Append(nil, stored), wrong, document.Append(nil, before), document.Append(nil, after), found)
			}
		}
		if said(diff.Stored) {
			broken++
		}
	}
	t.Logf("%d changes compared, %d break stored objects, nothing is said of %d; %d documents were broken", compared, broken, silent, contradicted)
	if compared < changes/4 || silent < compared/10 || contradicted < compared/2 {
		t.Error("too few to show anything")
	}
}
