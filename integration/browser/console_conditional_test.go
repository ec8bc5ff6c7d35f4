package browser

import (
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/integration/marqueetest"
)

// carSchema has properties that depend on the kind of a car, one of them within an object.
const carSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Car", "x-resource": {"path": "cars", "index": ["load"], "columns": ["name", "seats"]},
	"properties": {"name": {"type": "string"}, "kind": {"enum": ["VAN", "BUS"]}, "pin": {"type": "string", "x-secret": true}, "box": {"type": "object", "properties": {"wide": {"type": "boolean"}},
		"dependentSchemas": {"wide": {"properties": {"width": {"type": "number"}}}}}}, "required": ["name", "kind"],
	"oneOf": [{"properties": {"kind": {"const": "VAN"}, "load": {"type": "integer"}, "size": {"enum": ["S", "M"]}}, "required": ["load"]},
		{"properties": {"kind": {"const": "BUS"}, "seats": {"type": "integer"}, "size": {"enum": ["M", "L"]}, "twin": {"x-ref": "cars"}}}]}`

// TestConsoleConditional: properties that a schema has under a condition are imported, put back, shown in columns,
// filtered by and changed in many objects; a secret is not put back.
func TestConsoleConditional(t *testing.T) {
	c := openConsole(t, marquee.Options{Schemas: fstest.MapFS{"cars.json": {Data: []byte(carSchema)}}})
	c.show("/networks/main/list/cars", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.await(`!!document.querySelector(".count")`)
	x := newScreen(t, c.ctx, c.s)
	take := func(name, content string) {
		t.Helper()
		c.click("Import")
		c.visible("main input[type=file]")
		c.upload(name, content)
		c.click("Preview the first row")
		c.await(`document.querySelector(".many").innerText.includes("1 of 1: 1 accepted")`)
		c.click("Import 1 row")
		c.await(`document.querySelector(".many").innerText.includes("1 written, 0 refused")`)
		c.click("Close")
	}
	const car, bus = "/api/v1/cars/a?context=main", "/api/v1/cars/b?context=main"
	take("cars.csv", "id,Name,Kind,Load,box.wide,box.width\r\na,A,VAN,3,true,1.5\r\n")
	x.expectObject(car, map[string]any{"kind": "VAN", "load": int64(3), "box": map[string]any{"wide": true, "width": 1.5}})
	take("cars.ndjson", `{"id": "b", "name": "B", "kind": "BUS", "seats": 40}`+"\n")
	x.expectObject(bus, map[string]any{"kind": "BUS", "seats": int64(40)})

	c.s.Do("PATCH", car, `{"load": 4, "pin": "1234", "box": {"width": 2.5}}`, 200)
	x.show("/history?type=cars&id=a")
	x.await(`!!document.querySelector("main .history details button")`)
	evaluate[string](t, c.ctx, `document.querySelector("main .history details button").click(); ""`)
	x.await(`document.querySelector("dialog[open]")?.innerText.includes("A secret or erased value, which the history does not have")`)
	evaluate[string](t, c.ctx, `document.querySelector("dialog[open] .primary").click(); ""`)
	x.await(`!document.querySelector("dialog[open]")`)
	x.expectObject(car, map[string]any{"load": int64(3), "box": map[string]any{"wide": true, "width": 1.5}, "pin": "1234"})

	x.show("/list/cars?orderBy=id")
	c.await(heads + ` === "Name,Seats" && document.querySelector("main tbody").innerText.includes("40")`)
	c.unfold()
	x.choose(x.node(0, "Add a column", "combobox"), "Load")
	c.await(heads + ` === "Name,Seats,Load" && document.querySelector("main tbody tr").innerText.endsWith("3")`)
	x.press(0, "Add a condition")
	property := x.node(0, "Property", "combobox")
	if offered := x.options(property); offered != "Load, Created by, Changed by, Twin, Created, Changed" {
		t.Errorf("conditions are offered on %s", offered)
	}
	x.choose(property, "Load")
	x.write(x.node(0, "Value of Load", "textbox"), "3")
	x.press(0, "Apply")
	c.shows("A")

	x.press(0, "Select the rows of this page", "checkbox")
	c.click("Change them")
	c.visible("select[name=property]")
	for property, label := range map[string]string{"load": "Load", "size": "Size"} {
		c.choose("select[name=property]", property)
		x.node(0, label, "textbox", "combobox")
	}
	x.write(x.node(x.node(0, "Change 1 object", "form"), "Load", "textbox"), "3")
	size := x.node(0, "Size", "combobox")
	if offered := x.options(size); offered != "Not set, S, M, L" {
		t.Errorf("sizes are %s", offered)
	}
	x.choose(size, "S")
	c.click("Try without writing")
	c.await(`document.querySelector(".many")?.innerText.includes("1 of 1: 1 accepted")`)
	c.click("Change 1 object")
	c.await(`document.querySelector(".many")?.innerText.includes("1 of 1: 1 written")`)
	x.expectObject(car, map[string]any{"kind": "VAN", "load": int64(3), "size": "S"})
}
