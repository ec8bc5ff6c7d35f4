package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine/schema/validation"
)

// costly returns a type whose property x has a schema.
func costly(t *testing.T, x, definitions string) *Type {
	t.Helper()
	text := fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "C", "description": "c", "x-resource": {"path": "costly"}, "type": "object",
		"properties": {"x": %s}, "$defs": {%s}}`, x, definitions)
	registry, err := Load(Source{FS: fstest.MapFS{"costly.json": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := registry.Type("costly")
	return typ
}

func nested(levels int, inner string) string {
	return `{"x": ` + strings.Repeat(`{"a": `, levels) + inner + strings.Repeat("}", levels) + "}"
}

// twice applies itself twice to each member.
const twice = `"twice": {"type": ["object", "string"], "allOf": [{"properties": {"a": {"$ref": "#/$defs/twice"}}}, {"properties": {"a": {"$ref": "#/$defs/twice"}}}]}`

// TestDoublingEndsInTime validates objects by schemas that are applied twice as
// often at each level.
func TestDoublingEndsInTime(t *testing.T) {
	plain := costly(t, `{"$ref": "#/$defs/twice"}`, twice)
	tooComplex := func(limit int) string {
		return fmt.Sprintf("error.object.too.complex field= limit=%d type=costly", limit)
	}
	for _, c := range []struct {
		typ    *Type
		object string
		want   string
	}{
		{plain, nested(60, `"b"`), ""},
		{plain, nested(8, `1`), "error.value.type expected=object or string field=/x" + strings.Repeat("/a", 8)},
		{plain, nested(60, `1`), tooComplex(100_000)},
		// multipleOf is left to the library.
		{costly(t, `{"$ref": "#/$defs/twice"}`, strings.Replace(twice, `"string"]`, `"number"], "multipleOf": 2`, 1)), nested(8, `2`), ""},
		{costly(t, `{"$ref": "#/$defs/twice"}`, strings.Replace(twice, `"string"]`, `"number"], "multipleOf": 2`, 1)), nested(60, `2`), tooComplex(validation.MaxSteps)},
	} {
		if got := faultsOf(c.typ, decode(t, c.object)); got != c.want {
			t.Errorf("%.60s: %q, want %q", c.object, got, c.want)
		}
	}
}

// The deadline of a request ends the validation of many values, and of a long text.
func TestValidationEndsWithItsContext(t *testing.T) {
	typ := costly(t, `{"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string", "pattern": "^([a-c]{1,500})*$"}]}`, "")
	for _, object := range []string{`{"x": [1` + strings.Repeat(",1", 10_000) + "]}", `{"x": "` + strings.Repeat("abc", 10_000) + `"}`} {
		if faults, err := typ.Validate(t.Context(), decode(t, object)); err != nil {
			t.Errorf("%.20s: %v, %v", object, faults, err)
		}
		ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		if faults, err := typ.Validate(ctx, decode(t, object)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%.20s: %v, %v", object, faults, err)
		}
		cancel()
	}
}

// What a large pattern takes of a long text is counted, as the library cannot be interrupted.
func TestLargePatternsAreCounted(t *testing.T) {
	const url = "https://marquee.example/schemas/pattern.json"
	compiled, err := validation.NewCompiler(validation.Schemas{url: {"pattern": "(a?){800}(a?){800}b$"}}).Compile(url)
	if err != nil {
		t.Fatal(err)
	}
	for length, want := range map[int]error{10_000: nil, 250_000: validation.ErrTooComplex} {
		if err := validation.Within(t.Context(), compiled, strings.Repeat("a", length)); !errors.Is(err, want) {
			t.Errorf("%d characters: %v, want %v", length, err, want)
		}
	}
}

// A long text matches a pattern as a whole.
func TestPatternsReadLongTexts(t *testing.T) {
	typ := costly(t, `{"type": "string", "pattern": "^(é|x)*$"}`, "")
	long := strings.Repeat("éx", 10_000)
	for text, want := range map[string]string{long: "", long + "y": "error.value.pattern field=/x pattern=^(é|x)*$"} {
		if got := faultsOf(typ, map[string]any{"x": text}); got != want {
			t.Errorf("%q", got)
		}
	}
}

// A schema can have hundreds of definitions with conditions, and definitions that
// refer to each other.
func TestLargeSchemasAreTaken(t *testing.T) {
	var branches, definitions []string
	for i := range 300 {
		branches = append(branches, fmt.Sprintf(`{"$ref": "#/$defs/d%d"}`, i))
		definitions = append(definitions, fmt.Sprintf(`"d%d": {"type": "object", "properties": {"type": {"const": "t%d"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
			"allOf": [{"required": ["type"]}, {"if": {"required": ["type"]}, "then": {"required": ["type"]}}]}`, i, i))
	}
	definitions = append(definitions, `"node": {"anyOf": [`+strings.Join(branches, ",")+`]}`)
	if problems := problemsOf(t, fstest.MapFS{"large.json": {Data: []byte(fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "L", "description": "l", "x-resource": {"path": "large"}, "type": "object",
		"properties": {"tree": {"$ref": "#/$defs/node"}}, "$defs": {%s}}`, strings.Join(definitions, ",")))}}); problems != "" {
		t.Error(problems)
	}
}
