package schema

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/document"
	"marquee/engine/message"
)

func sortedNames(shape *document.Shape) []string { return slices.Sorted(maps.Keys(shape.Properties)) }

// normalise normalises a body, and returns the unknown members.
func normalise(t *testing.T, loaded *Type, body string) (string, []string) {
	t.Helper()
	object := decode(t, body)
	var unknown []string
	n := document.Normaliser{
		Unknown: func(at document.Pointer, _ bool) { unknown = append(unknown, at.String()) },
		Fault: func(d *message.Definition, at document.Pointer, _ message.Params) {
			t.Errorf("%s at %s of %s", d.Code, at, body)
		},
	}
	n.Object(loaded.Shape, object)
	slices.Sort(unknown)
	return string(document.Append(nil, object)), unknown
}

// The members of a recursive schema are known at every depth.
func TestRecursiveSchemas(t *testing.T) {
	for name, more := range map[string]string{
		"in a property": `"$defs": {"node": {"type": "object", "properties": {
			"to": {"x-ref": "things"}, "child": {"$ref": "#/$defs/node"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}`,
		"with words of its own": `"$defs": {"node": {"type": "object", "properties": {
			"to": {"x-ref": "things"}, "child": {"$ref": "#/$defs/node", "description": "below"}, "children": {"type": "array", "items": {"allOf": [{"$ref": "#/$defs/node"}]}}}}}`,
		"two that meet": `"$defs": {
			"a": {"type": "object", "properties": {"to": {"x-ref": "things"}, "child": {"$ref": "#/$defs/a"}}},
			"b": {"type": "object", "properties": {"child": {"$ref": "#/$defs/b"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}},
			"node": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			loaded := load(t, `"node": {"$ref": "#/$defs/node"}`, more)
			body := `{"node":{"child":{"child":{"child":{"to":{"id":"x"},"none":1}}},"children":[{"children":[{"to":{"id":"y"}}]}]}}`
			got, unknown := normalise(t, loaded, body)
			if want := `{"node":{"child":{"child":{"child":{"to":"x"}}},"children":[{"children":[{"to":"y"}]}]}}`; got != want {
				t.Error(got)
			}
			if strings.Join(unknown, " ") != "/node/child/child/child/none" {
				t.Error(unknown)
			}
			if faults := faultsOf(loaded, decode(t, got)); faults != "" {
				t.Error(faults)
			}
		})
	}
}

// The members of combined schemas are known.
func TestCombinedSchemas(t *testing.T) {
	loaded := load(t, `"a": {"$ref": "#/$defs/base", "properties": {"own": {"type": "string"}, "shared": {"readOnly": true}}},
		"byName": {"type": "object", "properties": {"fixed": {"type": "string"}}, "patternProperties": {"^x": {"x-ref": "things"}}},
		"nested": {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": true}}}`,
		`"$defs": {"base": {"type": "object", "properties": {"of": {"x-ref": "things"}, "shared": {"type": "string"}},
			"if": {"properties": {"kind": {"const": 1}}}, "then": {"properties": {"more": {"type": "integer"}}}}}`)
	got, unknown := normalise(t, loaded, `{"a":{"own":"o","of":{"id":"x"},"kind":1,"more":2,"shared":"s","none":3},"byName":{"fixed":"f","xa":{"id":"y"}}}`)
	if want := `{"a":{"kind":1,"more":2,"of":"x","own":"o"},"byName":{"fixed":"f","xa":"y"}}`; got != want || strings.Join(unknown, " ") != "/a/none" {
		t.Error(got, unknown)
	}
	if loaded.Shape.Properties["nested"].Plain {
		t.Error("an object with a writeOnly member is plain, and would be shown as it is stored")
	}
	want := []Index{{Property: "a.of"}}
	if !slices.Equal(loaded.Indexes, want) {
		t.Errorf("%v", loaded.Indexes)
	}
}

func TestSharedDefinitions(t *testing.T) {
	files := fstest.MapFS{
		"common/part.json": {Data: []byte(`{"$schema": "` + draft + `", "type": "object", "properties": {"to": {"x-ref": "things"}, "size": {"$ref": "size.json#/$defs/size"}}}`)},
		"common/size.json": {Data: []byte(`{"$schema": "` + draft + `", "$defs": {"size": {"type": "integer", "maximum": 3}}}`)},
		"things.json": {Data: []byte(`{"$schema": "` + draft + `", "$id": "https://example.com/elsewhere/things.json", "type": "object",
			"x-resource": {"path": "things"}, "properties": {"part": {"$ref": "common/part.json"}}}`)},
	}
	registry, err := Load(Source{FS: files})
	if err != nil {
		t.Fatal(err)
	}
	loaded, _ := registry.Type("things")
	got, _ := normalise(t, loaded, `{"part":{"to":{"id":"x"},"size":4}}`)
	if faults := faultsOf(loaded, decode(t, got)); got != `{"part":{"size":4,"to":"x"}}` || faults != "error.value.too.large field=/part/size limit=3" {
		t.Error(got, faults)
	}
}

// Schemas that list values without a type leave the type that another one declares.
func TestListedValuesKeepTheType(t *testing.T) {
	for name, more := range map[string]string{
		"if":               `"if": {"properties": {"n": {"const": 42}}}, "then": {"required": ["n"]}`,
		"anyOf":            `"anyOf": [{"properties": {"n": {"enum": [1, 2]}}}, {"properties": {"n": {"const": "x"}}}]`,
		"oneOf":            `"oneOf": [{"properties": {"n": {"const": 1}}}, {"properties": {"n": {"minimum": 2}}}]`,
		"dependentSchemas": `"dependentSchemas": {"n": {"properties": {"n": {"const": 42}}}}`,
	} {
		loaded := load(t, `"n": {"type": "integer", "default": 1}`, more+`, "x-validations": [{"rule": "self.n != 13", "code": "error.thing.n", "text": "N."}]`)
		if types := loaded.Shape.Properties["n"].Types; !slices.Equal(types, []string{"integer"}) {
			t.Errorf("%s: %v", name, types)
		}
	}
	both := load(t, `"n": {"anyOf": [{"type": "integer"}, {"const": "all"}]}`, "").Shape.Properties["n"].Types
	if slices.Sort(both); !slices.Equal(both, []string{"integer", "string"}) {
		t.Errorf("a branch that lists another value: %v", both)
	}
}
