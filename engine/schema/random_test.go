package schema

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"

	"marquee/engine/document"
	"marquee/engine/schema/dialect"
)

// schemaMaker generates well-formed schemas that refer to each other at random,
// including cycles.
type schemaMaker struct{ *rand.Rand }

func (m schemaMaker) schema(depth int) any {
	if depth == 0 || m.IntN(8) == 0 {
		return m.IntN(4) > 0
	}
	schema := map[string]any{}
	for range 1 + m.IntN(4) {
		switch m.IntN(14) {
		case 0, 1, 2:
			schema["$ref"] = "#/$defs/" + m.name()
		case 3, 4:
			schema["properties"] = m.members(depth)
			schema["type"] = "object"
		case 5:
			schema[pick(m, keywordsOf(dialect.SchemaList))] = []any{m.schema(depth - 1), m.schema(depth - 1)}
		case 6:
			schema[pick(m, keywordsOf(dialect.OneSchema))] = m.schema(depth - 1)
		case 7:
			schema[pick(m, keywordsOf(dialect.SchemaNames))] = m.members(depth)
		case 8:
			return map[string]any{"x-ref": "things"}
		case 9:
			return map[string]any{"type": "string", pick(m, []string{"x-secret", "writeOnly", "readOnly", "x-immutable"}): true}
		case 10:
			return map[string]any{"type": "object", "x-complete": true, "properties": m.members(depth)}
		case 11:
			schema["default"] = int64(m.IntN(3))
		case 12:
			schema["format"] = "date-time"
		case 13:
			schema["required"] = []any{m.name()}
		}
	}
	return schema
}

func pick(m schemaMaker, list []string) string { return list[m.IntN(len(list))] }

func keywordsOf(f dialect.Form) []string {
	var list []string
	for _, keyword := range slices.Sorted(slices.Values(dialect.Keywords())) {
		if dialect.FormOf(keyword) == f {
			list = append(list, keyword)
		}
	}
	return list
}

func (m schemaMaker) name() string { return string(rune('a' + m.IntN(4))) }

func (m schemaMaker) members(depth int) map[string]any {
	members := map[string]any{}
	for range m.IntN(4) {
		members[m.name()] = m.schema(depth - 1)
	}
	return members
}

func (m schemaMaker) document(depth int) any {
	switch n := m.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return int64(m.IntN(3))
	case n == 2:
		return "2030-01-01T00:00:00Z"
	case n == 3 && depth > 0:
		return []any{m.document(depth - 1), m.document(depth - 1)}
	case depth > 0:
		members := map[string]any{}
		for range m.IntN(4) {
			members[m.name()] = m.document(depth - 1)
		}
		return members
	}
	return true
}

// TestRandomSchemas checks that schemas of any form are loaded or rejected, and
// that the resulting types can be used without panics and endless loops.
func TestRandomSchemas(t *testing.T) {
	loadedTypes := 0
	for seed := range uint64(400) {
		m := schemaMaker{rand.New(rand.NewPCG(seed, 7))}
		defs := map[string]any{}
		for _, name := range []string{"a", "b", "c", "d"} {
			defs[name] = m.schema(4)
		}
		content := map[string]any{"$schema": draft, "type": "object", "x-resource": map[string]any{"path": "things"},
			"properties": m.members(4), "$defs": defs}
		registry, err := Load(Source{FS: fstest.MapFS{"fuzzed.json": {Data: document.Append(nil, content)}}})
		if err != nil {
			checkProblems(t, err)
			continue
		}
		loadedTypes++
		loaded, _ := registry.Type("things")
		for range 10 {
			use(t, loaded, document.Append(nil, m.document(5)))
		}
		checkIdempotence(t, strconv.FormatUint(seed, 10), loaded, m.document(5))
	}
	if loadedTypes < 60 {
		t.Errorf("%d schemas were taken: too few to show anything", loadedTypes)
	}
}

// checkIdempotence checks that normalising a document again does not change it.
func checkIdempotence(t *testing.T, seed string, loaded *Type, value any) {
	t.Helper()
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	n := normaliser()
	n.Object(loaded.Shape, object)
	once := document.Append(nil, object)
	n.Object(loaded.Shape, object)
	if twice := document.Append(nil, object); string(once) != string(twice) {
		t.Errorf("seed %s: %s became %s", seed, once, twice)
	}
}

// All errors of a load are problems.
func TestLoadOfNothing(t *testing.T) {
	var problems Problems
	if _, err := Load(Source{Name: "mine", FS: fstest.MapFS{}}); err != nil && !errors.As(err, &problems) {
		t.Errorf("%#v", err)
	}
}
