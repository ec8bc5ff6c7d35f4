package browser

import (
	"net/http"
	"testing"
	"testing/fstest"

	"marquee"
)

// parkSchema has kinds of parks, one of which has an object that is returned with what is not set, and has kinds of its own.
const parkSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Park", "x-resource": {"path": "parks"}, "required": ["name"], "properties": {"name": {"type": "string"}},
	"oneOf": [{"title": "With a pond", "required": ["pond"], "properties": {"pond": {"type": "object", "x-complete": true, "properties": {"deep": {"type": "boolean"}}, "oneOf": [
			{"title": "Of fish", "required": ["fish"], "properties": {"fish": {"type": "array", "items": {"type": "string"}}}},
			{"title": "Of plants", "required": ["plants"], "properties": {"plants": {"type": "array", "items": {"type": "string"}}}}]}}},
		{"title": "With a path", "required": ["path"], "properties": {"path": {"type": "string"}, "lamps": {"type": "object", "x-complete": true, "properties": {"number": {"type": "integer"}, "lit": {"type": "array", "items": {"type": "string"}}}}}}]}`

// TestFormKinds: the form shows the kind that an object was stored with, within another kind as well, and sends nothing of
// the other ones.
func TestFormKinds(t *testing.T) {
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"parks.json": {Data: []byte(parkSchema)}}})
	const path = "/api/v1/parks/a?context=main"
	x.s.Do(http.MethodPut, path, `{"name": "Park", "pond": {"plants": ["reed"]}}`, http.StatusCreated)
	x.show("/object/parks/a")
	form := x.node(0, "Park", "form")
	x.await(`[...document.querySelectorAll("main .alternatives select")].map(e => e.selectedOptions[0].text).join() === "With a pond,Of plants"`)
	pond := x.node(form, "Pond", "group")
	x.choose(x.node(pond, "Kind of Pond", "combobox"), "Of fish")
	pond = x.unfold(pond, "Pond")
	x.press(pond, "Add to Fish")
	x.write(x.node(pond, "Fish 1", "textbox"), "carp")
	x.press(form, "Save")
	x.says("Saved.")
	x.choose(x.node(form, "Kind of Park", "combobox"), "With a path")
	x.write(x.node(form, "Path", "textbox"), "round")
	x.press(form, "Save")
	x.await(`sent.length === 2`)
	x.says("Saved.")
	sent := x.sent()
	if sent[0].Body != `{"pond":{"plants":null,"fish":["carp"]}}` || sent[1].Body != `{"pond":null,"path":"round"}` {
		t.Errorf("sent %s and %s", sent[0].Body, sent[1].Body)
	}
}
