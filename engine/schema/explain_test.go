package schema

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
)

// load returns a type with properties, and further keywords, in JSON.
func load(t *testing.T, properties, more string) *Type {
	t.Helper()
	if more != "" {
		more = ", " + more
	}
	text := `{"$schema": "` + draft + `", "type": "object", "x-resource": {"path": "things"}, "properties": {` + properties + `}` + more + `}`
	registry, err := Load(Source{FS: fstest.MapFS{"things.json": {Data: []byte(text)}}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	loaded, _ := registry.Type("things")
	return loaded
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	object, err := document.DecodeObject([]byte(text), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// faultsOf validates a document, and returns the faults as codes and parameters.
func faultsOf(loaded *Type, object map[string]any) string {
	var lines []string
	faults, err := loaded.Validate(context.Background(), object)
	if err != nil {
		return err.Error()
	}
	for _, fault := range faults {
		line := fault.Code()
		for _, name := range slices.Sorted(maps.Keys(fault.Params())) {
			line += fmt.Sprintf(" %s=%v", name, fault.Param(name))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// Each keyword of JSON Schema has a message, with the position of the value and
// the constraint.
func TestExplain(t *testing.T) {
	for _, c := range []struct{ properties, more, object, want string }{
		{`"a": {"type": "string"}`, ``, `{"a": 1}`, `error.value.type expected=string field=/a`},
		{`"a": {"type": ["string", "null"]}`, ``, `{"a": 1}`, `error.value.type expected=string or null field=/a`},
		{`"a": {"type": "integer"}`, ``, `{"a": 1.5}`, `error.value.type expected=integer field=/a`},
		{`"a": {"enum": ["A", 2, null]}`, ``, `{"a": "B"}`, `error.value.enum allowed=A, 2, null field=/a`},
		{`"a": {"const": "A"}`, ``, `{"a": "B"}`, `error.value.const expected=A field=/a`},
		{`"a": {"const": {"b": 1}}`, ``, `{"a": "B"}`, `error.value.const expected={"b":1} field=/a`},
		{`"a": {"minLength": 2}`, ``, `{"a": "é"}`, `error.value.too.short field=/a limit=2`},
		{`"a": {"maxLength": 2}`, ``, `{"a": "ééé"}`, `error.value.too.long field=/a limit=2`},
		{`"a": {"pattern": "^[a-z]+$"}`, ``, `{"a": "A"}`, `error.value.pattern field=/a pattern=^[a-z]+$`},
		{`"a": {"format": "date"}`, ``, `{"a": "2030-02-30"}`, `error.value.format field=/a format=date`},
		{`"a": {"minimum": 1}`, ``, `{"a": 0.5}`, `error.value.too.small field=/a limit=1`},
		{`"a": {"maximum": 1.5}`, ``, `{"a": 2}`, `error.value.too.large field=/a limit=1.5`},
		{`"a": {"exclusiveMinimum": 1}`, ``, `{"a": 1}`, `error.value.not.above field=/a limit=1`},
		{`"a": {"exclusiveMaximum": 1}`, ``, `{"a": 1}`, `error.value.not.below field=/a limit=1`},
		{`"a": {"multipleOf": 0.01}`, ``, `{"a": 0.015}`, `error.value.multiple field=/a limit=0.01`},
		{`"a": {"minItems": 1}`, ``, `{"a": []}`, `error.items.too.few field=/a limit=1`},
		{`"a": {"maxItems": 1}`, ``, `{"a": [1, 2]}`, `error.items.too.many field=/a limit=1`},
		{`"a": {"items": {"type": "string"}}`, ``, `{"a": ["x", 1, 2]}`,
			`error.value.type expected=string field=/a/1; error.value.type expected=string field=/a/2`},
		{`"a": {"prefixItems": [{"type": "string"}], "items": false}`, ``, `{"a": [1]}`, `error.value.type expected=string field=/a/0`},
		{`"a": {"prefixItems": [true], "items": false}`, ``, `{"a": [1, 2]}`, `error.property.forbidden field=/a/1`},
		{`"a": {"contains": {"const": 1}}`, ``, `{"a": [2]}`, `error.items.missing field=/a`},
		{`"a": {"contains": {"const": 1}, "minContains": 2}`, ``, `{"a": [1]}`, `error.items.missing field=/a`},
		{`"a": {"minProperties": 1}`, ``, `{"a": {}}`, `error.properties.too.few field=/a limit=1`},
		{`"a": {"maxProperties": 1}`, ``, `{"a": {"b": 1, "c": 2}}`, `error.properties.too.many field=/a limit=1`},
		{`"a": {"required": ["b", "c/d"]}`, ``, `{"a": {}}`, `error.property.required field=/a/b; error.property.required field=/a/c~1d`},
		{`"a": true`, `"required": ["a"]`, `{}`, `error.property.required field=/a`},
		{`"a": {"dependentRequired": {"type": ["b"]}}`, ``, `{"a": {"type": 1}}`, `error.property.required field=/a/b`},
		{`"a": {"dependentSchemas": {"b": {"required": ["c"]}}}`, ``, `{"a": {"b": 1}}`, `error.property.required field=/a/c`},
		{`"a": {"propertyNames": {"maxLength": 1}}`, ``, `{"a": {"bb": 1}}`, `error.property.name field=/a/bb`},
		{`"a": {"properties": {"b": true}, "additionalProperties": false}`, ``, `{"a": {"it's \"x\"/y": 1, "d": 2}}`,
			`error.property.unknown field=/a/d type=the schema; error.property.unknown field=/a/it's "x"~1y type=the schema`},
		{`"a": {"additionalProperties": {"type": "string"}}`, ``, `{"a": {"b c/d~%é": 1}}`, `error.value.type expected=string field=/a/b c~1d~0%é`},
		{`"a": {"additionalProperties": {"required": ["x"]}}`, ``, `{"a": {"b c": {}}}`, `error.property.required field=/a/b c/x`},
		{`"a": {"patternProperties": {"^b": {"type": "string"}}}`, ``, `{"a": {"bb": 1, "c": 1}}`, `error.value.type expected=string field=/a/bb`},
		{`"a": {"properties": {"b": true}, "unevaluatedProperties": false}`, ``, `{"a": {"c": 1}}`, `error.property.unknown field=/a/c type=the schema`},
		{`"a": {"not": {"const": 1}}`, ``, `{"a": 1}`, `error.value.excluded field=/a keyword=not`},
		{`"anyOf": {"maxLength": 2, "pattern": "^a"}`, ``, `{"anyOf": "bbb"}`, `error.value.pattern field=/anyOf pattern=^a; error.value.too.long field=/anyOf limit=2`},
		{`"a": {"properties": {"b": false}}`, ``, `{"a": {"b": 1}}`, `error.property.forbidden field=/a/b`},
		{`"a": {"allOf": [{"minimum": 2}, {"multipleOf": 2}]}`, ``, `{"a": 1}`, `error.value.multiple field=/a limit=2; error.value.too.small field=/a limit=2`},
		{`"a": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer"}]}`, ``, `{"a": "x"}`, `error.value.too.short field=/a limit=2`},
		{`"a": {"type": "string", "contentEncoding": "base64"}`, ``, `{"a": "a+/=b"}`, `error.value.format field=/a format=base64`},
		{`"a": {"type": "string", "contentEncoding": "base64"}`, ``, `{"a": "YQ==\n"}`, `error.value.format field=/a format=base64`},
		{`"a": {"type": "string", "contentEncoding": "base64", "format": "uri"}`, ``, `{"a": "a b"}`, `error.value.format field=/a format=uri`},
		{`"a": {"contains": {"const": 1}, "maxContains": 1}`, ``, `{"a": [1, 2, 1]}`, `error.items.surplus field=/a limit=1`},
		{`"a": true, "b": true`, `"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}, "else": {"properties": {"b": false}}`,
			`{"a": 1}`, `error.property.required field=/b`},
		{`"a": true, "b": true`, `"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}, "else": {"properties": {"b": false}}`,
			`{"a": 2, "b": 1}`, `error.property.forbidden field=/b`},
		{`"a": {"$ref": "#/$defs/x"}`, `"$defs": {"x": {"type": "object", "properties": {"b": {"$ref": "#/$defs/y"}}}, "y": {"maximum": 3}}`,
			`{"a": {"b": 4}}`, `error.value.too.large field=/a/b limit=3`},
		{`"a": {"x-ref": "things"}`, ``, `{"a": {"id": "x"}}`, `error.value.type expected=string field=/a`},
	} {
		if got := faultsOf(load(t, c.properties, c.more), decode(t, c.object)); got != c.want {
			t.Errorf("%s, %s\n  got  %s\n  want %s", c.properties, c.object, got, c.want)
		}
	}
}

// A property can have the name of a keyword.
func TestPropertiesNamedLikeKeywords(t *testing.T) {
	var properties []string
	for _, name := range []string{"readOnly", "writeOnly", "uniqueItems", "enum", "const", "default", "examples", "items", "properties",
		"type", "required", "x-ref", "if", "not", "allOf", "pattern", "format", "title", "definitions"} {
		properties = append(properties, `"`+name+`": {"type": "integer", "minimum": 1}`)
	}
	loaded := load(t, strings.Join(properties, ", "), "")
	for name := range loaded.Shape.Properties {
		want := "error.value.too.small field=/" + name + " limit=1"
		if got := faultsOf(loaded, map[string]any{name: int64(0)}); got != want {
			t.Errorf("%s: %s", name, got)
		}
		if got := faultsOf(loaded, map[string]any{name: int64(1)}); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The number of faults is limited to those that a response lists.
func TestExplainBounded(t *testing.T) {
	loaded := load(t, `"a": {"items": {"type": "string"}}`, ``)
	object := decode(t, `{"a": [`+strings.Repeat("1,", message.MaxFaults)+`1]}`)
	if faults := validate(t, loaded, object); len(faults) != message.MaxFaults {
		t.Errorf("%d faults", len(faults))
	}
}

// However many values are wrong, the texts of a bounded number of faults are made, and they
// are the same each time.
func TestExplainCollectsBounded(t *testing.T) {
	const collected = 1000
	loaded := load(t, `"a": {"items": {"type": "object", "properties": {"b": {"enum": ["x", "y"]}, "c": {"oneOf": [{"const": 1}, {"const": 2}]}}}}`, ``)
	object := decode(t, `{"a": [`+strings.Repeat(`{"b": "z", "c": 3},`, 2*collected)+`{}]}`)
	collect := func() []message.Message {
		var invalid *jsonschema.ValidationError
		if !errors.As(loaded.rules.Schema.Validate(object), &invalid) {
			t.Fatal("the object is valid")
		}
		return loaded.rules.Schemas.Explain(invalid, object)
	}
	faults := collect()
	if len(faults) != collected {
		t.Errorf("%d faults", len(faults))
	}
	if again := collect(); fmt.Sprint(again) != fmt.Sprint(faults) {
		t.Error("other faults than before")
	}
}
