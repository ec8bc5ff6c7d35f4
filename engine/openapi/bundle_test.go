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

// TestPageOfNarrowedType checks that the page of a type says nothing of what its schema leaves
// out.
func TestPageOfNarrowedType(t *testing.T) {
	const steps = `"x-transitions": {"A": [{"to": "B", "rule": "has(self.hidden)"}], "B": []}`
	files := fstest.MapFS{"boxes.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Box", "x-resource": {"path": "boxes"}, "type": "object",
		"properties": {"hidden": {"type": "string", "x-readable": "SEE"}, "other": {"type": "string", "enum": ["A", "B"], "x-transitions": {"A": [{"to": "B", "rule": "has(self.state)"}], "B": []}},
			"state": {"type": "string", "enum": ["A", "B"], ` + steps + `}, "shared": {"$ref": "#/$defs/state"}}, "$defs": {"state": {"type": "string", "enum": ["A", "B"], ` + steps + `}}}`)}}
	types, err := schema.Load(schema.Source{Name: "schemas", FS: files})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := types.Type("boxes")
	narrowed := all.Without(func(string) bool { return true })
	for _, c := range []struct {
		t     *schema.Type
		shows bool
	}{{all, true}, {narrowed, false}} {
		page, err := renderType(types, c.t)
		if err != nil {
			t.Fatal(err)
		}
		text, err := renderSchema(types, c.t, writtenForm, nil)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(page, []byte("hidden")) != c.shows || bytes.Contains(text, []byte("hidden")) != c.shows {
			t.Errorf("narrowed %v:\n%s\n%s", c.t.Narrowed(), page, text)
		}
		if !bytes.Contains(page, []byte("has(self.state)")) {
			t.Errorf("the other steps are missing:\n%s", page)
		}
	}
}
