package schema

import (
	"fmt"
	"testing"
	"testing/fstest"
)

// TestFillsOfComparedValues: what is compared with the values of other objects is not filled
// in, at any depth.
func TestFillsOfComparedValues(t *testing.T) {
	const number = `"number": {"type": "string", "default": "1"}, "other": {"type": "string", "default": "2"}`
	folder := fstest.MapFS{"things.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "x-resource": {"path": "things", "unique": ["code.number", "name"]}, "type": "object",
		"required": ["name", "title", "code"], "properties": {"name": {"type": "string", "default": "n"}, "title": {"type": "string", "default": "t"},
		"code": {"type": "object", "default": {"number": "1", "other": "2"}, "required": ["number", "other"], "properties": {` + number + `}}}}`)}}
	registry, err := Load(Source{Name: "s", FS: folder})
	if err != nil {
		t.Fatal(err)
	}
	things, _ := registry.Type("things")
	if got, want := fmt.Sprint(things.Shape.Fills, things.Shape.Properties["code"].Fills), "[title] [other]"; got != want {
		t.Errorf("filled in are %s, want %s", got, want)
	}
}
