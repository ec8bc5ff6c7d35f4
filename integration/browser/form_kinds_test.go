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

// TestFormKindMissing: a form says where a kind must be chosen, and what the chosen one lacks, in its own words, and leads
// there.
func TestFormKindMissing(t *testing.T) {
	const schema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Cart", "x-resource": {"path": "carts"}, "required": ["name", "drive", "load"], "properties": {"name": {"type": "string"},
		"load": {"oneOf": [{"type": "object", "title": "Hay", "required": ["bales"], "properties": {"bales": {"type": "integer", "minimum": 1}}, "additionalProperties": false},
			{"type": "object", "title": "Milk", "required": ["cans"], "properties": {"cans": {"type": "integer"}}, "additionalProperties": false}]},
		"drive": {"type": "object", "properties": {"by": {"enum": ["HORSE", "MOTOR"]}},
			"oneOf": [{"properties": {"by": {"const": "HORSE"}}}, {"properties": {"by": {"const": "MOTOR"}, "power": {"type": "integer"}}}]}}}`
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"parks.json": {Data: []byte(parkSchema)}, "carts.json": {Data: []byte(schema)}}})
	const described = `function() { return [this.getAttribute("aria-required"), this.getAttribute("aria-invalid"), ...(this.getAttribute("aria-describedby") ?? "").split(" ").map(id => document.getElementById(id)?.innerText)].filter(Boolean).join() }`
	expect := func(field within, want string) {
		t.Helper()
		if got := x.call(field, described); got != want {
			t.Errorf("the field says %q, not %q", got, want)
		}
	}
	// faults are those above the form, which are links, of which the only one is followed.
	faults := func(want string) {
		t.Helper()
		x.await(`document.activeElement.matches("main .summary[role=alert]")`)
		if said := evaluate[string](t, x.ctx, `[...document.querySelectorAll("main .summary li button")].map(e => e.innerText).join()`); said != want {
			t.Errorf("the form says %q, not %q", said, want)
		}
		evaluate[string](t, x.ctx, `document.querySelector("main .summary li button").click(); ""`)
	}
	x.show("/new/parks")
	form := x.node(0, "New: Park", "form")
	kind := x.node(form, "Kind of Park", "combobox")
	expect(kind, "true,false")
	x.write(x.node(form, "Name", "textbox"), "Park")
	x.press(form, "Create")
	faults("Choose a kind.")
	x.await(`document.activeElement.matches(".alternatives select")`)
	expect(kind, "true,true,Choose a kind.")
	screenshot(t, x.ctx, "form-kind.png")
	(&console{keyboard: keyboard{t, x.ctx}, s: x.s}).judge(axe(t), "a form without a kind")
	x.choose(kind, "With a pond")
	expect(kind, "true,false")
	x.press(form, "Create")
	faults("Pond: Choose a kind.")
	of := x.node(form, "Kind of Pond", "combobox")
	expect(of, "true,true,Choose a kind.")
	x.choose(kind, "With a path")
	x.press(form, "Create")
	faults("Path: Enter a value: it is required.")
	x.write(x.node(form, "Path", "textbox"), "round")
	x.press(form, "Create")
	x.created("parks")

	x.visit("/new/carts")
	form = x.node(0, "New: Cart", "form")
	load := x.node(form, "Kind of Load", "combobox")
	expect(load, "true,false")
	x.write(x.node(form, "Name", "textbox"), "Cart")
	x.choose(load, "Hay")
	x.press(form, "Create")
	faults("Drive › By: Enter a value: it is required.,Load › Bales: Enter a value: it is required.")
	by := x.node(form, "By", "combobox")
	expect(by, "true,true,Enter a value: it is required.")
	x.choose(by, "MOTOR")
	x.write(x.node(form, "Bales", "textbox"), "0")
	x.press(form, "Create")
	faults("Load › Bales: Bales must be at least 1.")
	x.await(`document.activeElement.id.endsWith("/load/bales")`)
	x.write(x.node(form, "Bales", "textbox"), "4")
	x.press(form, "Create")
	x.created("carts")
}
