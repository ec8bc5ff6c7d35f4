package schema

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/document"
)

// TestUndeclared finds and removes what a schema does not declare, at any depth, and nothing
// else.
func TestUndeclared(t *testing.T) {
	folder := fstest.MapFS{"things.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "x-resource": {"path": "things"}, "type": "object", "properties": {
		"name": {"type": "string"}, "old": {"type": "object"}, "to": {"x-ref": "things"}, "in": {"type": "object", "properties": {"a": {"type": "string"}}},
		"list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}, "first": {"type": "array", "prefixItems": [{"type": "object", "properties": {"a": {"type": "string"}}}]},
		"map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
		"like": {"type": "object", "properties": {"a": {"type": "string"}}, "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}}}`)}}
	registry, err := Load(Source{Name: "s", FS: folder})
	if err != nil {
		t.Fatal(err)
	}
	things, _ := registry.Type("things")
	const stored = `{"~/": 1, "fax": "1", "first": [{"a": "x", "fax": 1}, {"fax": 2}], "in": {"a": "x", "fax": 1}, "like": {"a": "x", "fax": 1, "x1": "x"},
		"list": [{"a": "x"}, {"fax": 1}], "map": {"fax": {"a": "x"}, "other": {"fax": {"deep": 1}}}, "name": "n", "old": {"fax": 1}, "to": "x"}`
	decode := func() map[string]any {
		object, err := document.DecodeObject([]byte(stored), document.Limits{Depth: 10})
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	var places []string
	things.Shape.Undeclared(decode(), func(at document.Pointer) { places = append(places, things.Shape.Place(at.String())) })
	slices.Sort(places)
	if got, want := strings.Join(places, " "), "/fax /first/*/fax /in/fax /like/fax /list/*/fax /map/*/fax /~0~1"; got != want {
		t.Errorf("undeclared is %s, want %s", got, want)
	}
	object := decode()
	for _, place := range places {
		if things.Shape.Declares(place) {
			t.Errorf("%s is declared", place)
		}
		if !things.Shape.Prune(object, place) || things.Shape.Prune(object, place) {
			t.Errorf("%s is not pruned once", place)
		}
	}
	const left = `{"first":[{"a":"x"},{"fax":2}],"in":{"a":"x"},"like":{"a":"x","x1":"x"},"list":[{"a":"x"},{}],"map":{"fax":{"a":"x"},"other":{}},"name":"n","old":{"fax":1},"to":"x"}`
	if got := string(document.Append(nil, object)); got != left {
		t.Errorf("left is %s, want %s", got, left)
	}
	for _, place := range []string{"/name", "/in/a", "/list/*/a", "/first/*/a", "/map/*/a", "/map/fax", "/like/x9", "/old/fax", "/to"} {
		if !things.Shape.Declares(place) {
			t.Errorf("%s is not declared", place)
		}
		if object := decode(); things.Shape.Prune(object, place) {
			t.Errorf("%s is pruned", place)
		}
	}
}
