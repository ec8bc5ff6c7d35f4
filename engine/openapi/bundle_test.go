package openapi

import (
	"bytes"
	"testing"
	"testing/fstest"

	"marquee/engine/schema"
)

// TestSchemasAreReproducible checks that the names of definitions do not depend on the
// order in which they are found.
func TestSchemasAreReproducible(t *testing.T) {
	files := fstest.MapFS{
		"boxes.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Box", "x-resource": {"path": "boxes"}, "type": "object",
			"properties": {"a": {"$ref": "common/size.json"}, "b": {"$ref": "#/properties/a"}, "size": {"type": "integer"}, "c": {"$ref": "#/properties/size"}}}`)},
		"common/size.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
			"properties": {"size": {"$ref": "#/$defs/size"}, "other": {"$ref": "#/$defs/Size"}}, "$defs": {"size": {"type": "number"}, "Size": {"type": "string"}}}`)},
	}
	types, err := schema.Load(schema.Source{Name: "schemas", FS: files})
	if err != nil {
		t.Fatal(err)
	}
	boxes, _ := types.Type("boxes")
	for _, form := range []schemaForm{writtenForm, plainForm} {
		first, err := renderSchema(types, boxes, form, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if again, err := renderSchema(types, boxes, form, nil); err != nil || !bytes.Equal(first, again) {
				t.Fatalf("%v\n%s\n%s", err, first, again)
			}
		}
	}
}
