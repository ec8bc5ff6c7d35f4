package openapi

import (
	"regexp"
	"slices"
	"testing"
	"testing/fstest"

	"marquee/engine/schema"
)

// TestSchemaOrder: the schema of a type and its definitions have their members in the order of the files.
func TestSchemaOrder(t *testing.T) {
	types, err := schema.Load(schema.Source{FS: fstest.MapFS{
		"plants.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Plant", "x-resource": {"path": "plants"}, "type": "object",
			"properties": {"zinc": {"type": "string"}, "name": {"type": "string"}, "place": {"$ref": "common/place.json"}, "age": {"type": "integer"}}}`)},
		"common/place.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"row": {"type": "integer"}, "bed": {"type": "integer"}}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	plants, _ := types.Type("plants")
	text, err := renderSchema(types, plants, writtenForm, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, found := range regexp.MustCompile(`"(zinc|name|place|age|row|bed)": `).FindAllSubmatch(text, -1) {
		names = append(names, string(found[1]))
	}
	if !slices.Equal(names, []string{"zinc", "name", "place", "age", "row", "bed"}) {
		t.Errorf("the order is %v in %s", names, text)
	}
}

// TestOrder: a value is encoded in the order of a text, and what the text does not have comes last.
func TestOrder(t *testing.T) {
	text := []byte(`{"b": 1, "a/b": {"z": [{"y": 1, "x": 2}, 3], "<": 4}, "c": 5}`)
	value := object{"new": 1, "more": 2, "c": 5, "b": 1, "a/b": object{"<": "<", "z": []any{object{"x": 1, "y": 2}, 3, object{"b": 1, "a": 2}}}}
	for pointer, want := range map[string]string{
		"":      `{"b":1,"a/b":{"z":[{"y":2,"x":1},3,{"a":2,"b":1}],"<":"<"},"c":5,"more":2,"new":1}`,
		"/none": `{"a/b":{"<":"<","z":[{"x":1,"y":2},3,{"a":2,"b":1}]},"b":1,"c":5,"more":2,"new":1}`,
	} {
		got, err := members{{"v", orderOf(text, pointer).apply(value)}}.MarshalJSON()
		var compact string
		for _, c := range string(got) {
			if c != '\n' {
				compact += string(c)
			}
		}
		if err != nil || compact != `{"v":`+want+`}` {
			t.Errorf("%q: %s, %v", pointer, compact, err)
		}
	}
	if inner := orderOf(text, "/a~1b"); inner == nil || len(inner.names) != 2 || inner.names[0] != "z" {
		t.Errorf("the order at a pointer is %v", inner)
	}
}
