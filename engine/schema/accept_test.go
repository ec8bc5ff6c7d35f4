package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/validation"
	"marquee/schemas"
)

const acceptable = `{"bidSpecification":{"cpm":{"amount":4.5,"currency":"EUR"}},"endDate":"2030-08-31T22:00:00.000Z","labels":["summer","front"],"name":"Line item","objectives":{"IMPRESSION":500000},"order":"o7","rateLimits":[{"amount":3,"periodType":"DAYS","scope":"PER_USER","type":"IMPRESSION"}],"startDate":"2030-05-01T00:00:00.000Z","tier":"t","type":"AUCTION","userState":"APPROVED"}`

// FuzzAccepts compares Accepts with the library for all built-in schemas.
func FuzzAccepts(f *testing.F) {
	registry, err := Load(Source{FS: schemas.FS})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{acceptable, `{}`, `{"name":"","type":"SPONSORSHIP","share":1.5,"labels":[1],"objectives":{}}`, `{"name":null,"order":{"id":"x"}}`} {
		f.Add([]byte(seed))
	}
	conditions := conditionsOf(f, registry)
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := document.DecodeObject(data, document.Limits{Depth: 50})
		if err != nil {
			return
		}
		for _, typ := range registry.Types() {
			if is, want := mustAccept(t, typ.rules.Schema, object), typ.rules.Schema.Validate(object) == nil; is != want {
				t.Errorf("%s: %s: %t, the library says %t", typ.Name, data, is, want)
			}
			for at, when := range conditions[typ.Name] {
				if is, want := mustAccept(t, when, object), when.Validate(object) == nil; is != want {
					t.Errorf("%s: %s: %s: %t, the library says %t", typ.Name, at, data, is, want)
				}
			}
		}
	})
}

// conditionsOf compiles the conditions of the rules of built-in types.
func conditionsOf(f *testing.F, registry *Registry) map[string]map[string]*jsonschema.Schema {
	raw := validation.Schemas{}
	compiler := validation.NewCompiler(raw)
	add := func(name string, content map[string]any) {
		raw[baseURL+name], _ = validation.Stored(content).(map[string]any)
	}
	for name, content := range registry.Shared() {
		add(name, content)
	}
	for _, t := range registry.Types() {
		add(t.File, t.Source)
	}
	all := map[string]map[string]*jsonschema.Schema{}
	for _, t := range registry.Types() {
		all[t.Name] = map[string]*jsonschema.Schema{}
		for _, at := range conditions(&File{Content: t.Source}) {
			all[t.Name][at] = compiler.MustCompile(baseURL + t.File + "#" + at)
		}
	}
	return all
}

// TestAcceptsSchemas compares Accepts with the library for the meta-schema, which has keywords
// that the built-in schemas lack: for a schema, and for all that have one other value in it.
func TestAcceptsSchemas(t *testing.T) {
	content, err := document.DecodeObject([]byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": {"path": "tickets", "unique": ["name"], "search": ["name"]},
		"required": ["name"], "properties": {"name": {"type": "string", "maxLength": 5, "x-immutable": true}, "at": {"type": ["string", "null"], "format": "date-time"}, "to": {"x-ref": "tickets"},
		"state": {"type": "string", "enum": ["A", "B"], "x-initial": ["A"], "x-transitions": {"A": ["B"]}, "x-was-values": {"C": "B"}}}}`), document.Limits{Depth: 50})
	if err != nil {
		t.Fatal(err)
	}
	compare := func(name string, value any, accepted bool) {
		if want := vocabulary().forTypes.Validate(content) == nil; accepted != want {
			t.Errorf("with %v as %s: %t, the library says %t", value, name, accepted, want)
		}
	}
	if !mustAccept(t, vocabulary().forTypes, content) {
		t.Error("the schema is not accepted")
	}
	var change func(object map[string]any)
	change = func(object map[string]any) {
		for name, was := range object {
			for _, value := range []any{nil, int64(1), "name", []any{"name", "name"}, []any{"name", int64(1), 1.0}, map[string]any{}} {
				object[name] = value
				compare(name, value, mustAccept(t, vocabulary().forTypes, content))
			}
			object[name] = was
			if inner, is := was.(map[string]any); is {
				change(inner)
			}
		}
	}
	change(content)
}

func BenchmarkAccepts(b *testing.B) {
	registry, err := Load(Source{FS: schemas.FS})
	if err != nil {
		b.Fatal(err)
	}
	t, _ := registry.Type("lineitems")
	object, err := document.DecodeObject([]byte(acceptable), document.Limits{Depth: 50})
	if err != nil {
		b.Fatal(err)
	}
	if is, err := validation.Accepts(b.Context(), t.rules.Schema, object); err != nil || !is {
		b.Error(is, err)
	}
	b.Run("accepts", func(b *testing.B) {
		for range b.N {
			validation.Accepts(b.Context(), t.rules.Schema, object)
		}
	})
	b.Run("library", func(b *testing.B) {
		for range b.N {
			t.rules.Schema.Validate(object)
		}
	})
}

func mustAccept(t *testing.T, s *jsonschema.Schema, v any) bool {
	t.Helper()
	is, err := validation.Accepts(t.Context(), s, v)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func validate(t *testing.T, typ *Type, object map[string]any) []message.Message {
	t.Helper()
	faults, err := typ.Validate(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// TestJudged compares the schemas of NewJudgedCompiler with those of NewCompiler, for all that
// have one keyword with a value of some kind and that the meta-schema accepts: so does that of
// the draft.
func TestJudged(t *testing.T) {
	const values = `[null, true, false, -1, 0, 2, 1.5, "", "a", "#", "(", "string", "date", [], ["a"], ["a", "a"], ["string"], [{}], [2, 1.5, {"b": 2}], [{"type": "string"}, false],
		{}, {"a": 1}, {"a": true}, {"a": {"type": "string"}}, {"(": {}}, {"a": ["b"]}, {"a": ["b", "b"]}, {"type": 1}, {"const": 2}, {"minimum": 1.5}]`
	list, err := document.Decode([]byte(values), document.Limits{Depth: 9})
	if err != nil {
		t.Fatal(err)
	}
	lines := func(err error) string { // of which the library has some in no order
		return strings.Join(slices.Sorted(strings.Lines(fmt.Sprintf("%#v\n", err))), "")
	}
	compile := func(compiler *jsonschema.Compiler) func(instance any) error {
		schema, err := compiler.Compile(baseURL + "a.json")
		if err != nil {
			return func(any) error { return err }
		}
		return schema.Validate
	}
	compared := 0
	for _, name := range dialect.Keywords() {
		for _, value := range list.([]any) {
			content := map[string]any{"$schema": draft, "type": "object", "x-resource": map[string]any{"path": "as"}, "properties": map[string]any{"a": map[string]any{name: value}}}
			if !mustAccept(t, vocabulary().forTypes, content) || name == "$ref" {
				continue
			}
			raw := validation.Schemas{baseURL + "a.json": validation.Stored(content).(map[string]any)}
			judged, compiled := compile(validation.NewJudgedCompiler(raw)), compile(validation.NewCompiler(raw))
			for _, instance := range list.([]any) {
				object := map[string]any{"a": instance}
				if got, want := lines(judged(object)), lines(compiled(object)); got != want {
					t.Fatalf("%s: %v: %v: %s, want %s", name, value, instance, got, want)
				}
				compared++
			}
		}
	}
	if compared < 5000 {
		t.Errorf("%d compared", compared)
	}
	raw := validation.Schemas{baseURL + "a.json": {"type": "string", "multipleOf": int64(0)}}
	if compile(validation.NewCompiler(raw))("a") == nil || compile(validation.NewJudgedCompiler(raw))("a") != nil || compile(validation.NewJudgedCompiler(raw))(true) == nil {
		t.Error("which schemas the library judges differs")
	}
}
