package browser

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/integration/process"
	"marquee/resources"
)

const bookSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Book", "x-resource": {"path": "books"},
	"properties": {"name": {"type": "string"},
		"author": {"type": "string", "maxLength": 40, "description": "<b onclick=alert(1)>Who</b> wrote it"}, "pages": {"type": "integer", "minimum": 1}, "shelf": {"type": "string", "maxLength": 40},
		"paper": {"type": "object", "properties": {"weight": {"type": "integer", "minimum": 10}}}, "kind": {"type": "string", "enum": ["PAPER", "FILE"]}, "format": {"type": "string", "maxLength": 9}},
	"required": ["name"], "if": {"properties": {"kind": {"const": "FILE"}}, "required": ["kind"]}, "then": {"properties": {"format": {"type": "string"}, "size": {"type": "integer"}}, "required": ["size"]}}`

func books(t *testing.T) *screen {
	t.Helper()
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"books.json": {Data: []byte(bookSchema)}}})
	evaluate[string](t, x.ctx, `window.alert = () => document.title = "attacked"; ""`)
	return x
}

// TestFormConflict: after somebody else has saved, changes on one side are merged, and the user
// chooses among the others.
func TestFormConflict(t *testing.T) {
	x := books(t)
	const path = "/api/v1/books/moby?context=main"
	x.s.Do("PUT", path, `{"name": "Moby", "author": "nobody", "pages": 1, "shelf": "A"}`, 201)
	x.show("/object/books/moby")
	form := x.node(0, "Moby", "form")
	x.write(x.node(form, "Author", "textbox"), "Herman")
	x.write(x.node(form, "Shelf", "textbox"), "mine")
	x.s.Do("PATCH", path, `{"pages": 635, "shelf": "theirs"}`, 200)
	x.press(form, "Save")
	x.node(0, "Theirs: Shelf", "radio")
	for _, text := range []string{"nobody", "Herman", "635", "mine", "theirs"} {
		if !strings.Contains(x.text(), text) {
			t.Errorf("the view of the conflict lacks %s: %s", text, x.text())
		}
	}
	screenshot(t, x.ctx, "form-conflict.png")
	x.press(0, "Theirs: Shelf", "radio")
	x.press(0, "Save the result")
	x.says("Saved.")
	x.expectObject(path, map[string]any{"author": "Herman", "pages": int64(635), "shelf": "theirs"})
	sent := x.sent()
	if len(sent) != 2 || sent[0].Headers["If-Match"] == sent[1].Headers["If-Match"] || sent[1].Body != `{"author":"Herman"}` {
		t.Errorf("sent %v", sent)
	}
}

// TestFormFaults: faults are at their fields, and in a list that leads to them; what a condition
// hides is not sent; and leaving the form asks.
func TestFormFaults(t *testing.T) {
	x := books(t)
	x.show("/new/books")
	form := x.node(0, "New: Book", "form")
	const name = `<img src=x onerror="alert(1)">`
	x.write(x.node(form, "Name", "textbox"), name)
	kind := x.node(form, "Kind", "combobox")
	x.choose(kind, "FILE")
	x.write(x.node(form, "Size", "textbox"), "12x")
	x.press(form, "Create")
	x.await(`document.querySelector("[role=alert]")?.innerText.includes("Size: Enter a number")`)
	if said := evaluate[string](t, x.ctx, `[...document.querySelectorAll("main .notes .fault")].map(e => e.innerText).join()`); said != "Enter a number, such as 12 or 0.5." {
		t.Errorf("the field says %q", said)
	}
	x.choose(kind, "PAPER")
	x.write(x.node(form, "Pages", "textbox"), "0")
	x.press(form, "Add Paper")
	x.write(x.node(x.node(form, "Paper", "group"), "Weight", "textbox"), "1")
	x.press(form, "Create")
	x.await(`document.querySelector("[role=alert]")?.innerText.includes("Weight")`)
	if sent := x.sent(); len(sent) != 1 || strings.Contains(sent[0].Body, "size") {
		t.Errorf("sent %v", sent)
	}
	evaluate[string](t, x.ctx, `[...document.querySelectorAll("[role=alert] button")].find(b => b.innerText.includes("Weight")).click(); ""`)
	x.await(`document.activeElement.getAttribute("aria-invalid") === "true" && document.activeElement.id.endsWith("/paper/weight")`)
	screenshot(t, x.ctx, "form-faults.png")

	evaluate[string](t, x.ctx, `window.asked = 0; window.confirm = () => { asked++; return false }; document.querySelector(".brand").click(); ""`)
	if at := evaluate[string](t, x.ctx, "location.pathname + asked"); !strings.HasSuffix(at, "/new/books1") {
		t.Errorf("leaving the form did not ask: %s", at)
	}
	x.write(x.node(x.node(form, "Paper", "group"), "Weight", "textbox"), "80")
	x.write(x.node(form, "Pages", "textbox"), "7")
	x.press(form, "Create")
	id := x.created("books")[0]
	x.expectObject("/api/v1/books/"+id+"?context=main", map[string]any{"name": name, "pages": int64(7), "paper": map[string]any{"weight": int64(80)}, "kind": "PAPER"})
	x.node(0, name, "heading")
	if attacked := evaluate[bool](t, x.ctx, `document.title === "attacked" || !!document.querySelector("main img, main b")`); attacked {
		t.Error("a value or a description is not shown as text")
	}
}

// TestFormIncompleteDate: a date that lacks a part is not saved as none, but named.
func TestFormIncompleteDate(t *testing.T) {
	x := onConsole(t, marquee.Options{Application: resources.New().Application()})
	x.show("/new/lineitems")
	form := x.node(0, "New: Line item", "form")
	x.write(x.node(form, "Name", "textbox"), "Front page")
	k := keyboard{t, x.ctx}
	x.call(x.node(form, "Start date", "datetime-local"), "function() { this.focus(); }")
	k.press("03012031" + "12")
	x.press(form, "Create")
	x.await(`document.querySelector("[role=alert]")?.innerText.includes("Start date")`)
	x.call(x.node(form, "Start date", "datetime-local"), "function() { this.focus(); }")
	k.press("030120311200PM")
	x.press(form, "Create")
	x.created("lineitems")
}

// long is the form of an object with 300 fields and an array of 1,000 items, and the object.
func long(t *testing.T) (x *screen, form within, object map[string]any) {
	t.Helper()
	properties, object := map[string]any{}, map[string]any{"name": "Long"}
	for i := range 300 {
		properties[fmt.Sprintf("field%d", i)] = map[string]any{"type": "string", "maxLength": 1000}
		object[fmt.Sprintf("field%d", i)] = "value"
	}
	items := []any{}
	for i := range 1000 {
		items = append(items, fmt.Sprint("item ", i))
	}
	properties["name"], object["items"] = map[string]any{"type": "string"}, items
	properties["items"] = map[string]any{"type": "array", "items": map[string]any{"type": "string", "maxLength": 1000}}
	schema := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": properties, "x-resource": map[string]any{"path": "longs"}}
	x = onConsole(t, marquee.Options{Schemas: fstest.MapFS{"longs.json": {Data: []byte(jsonText(schema))}}})
	x.s.Do("PUT", "/api/v1/longs/a?context=main", jsonText(object), 201)
	x.show("/object/longs/a")
	return x, x.node(0, "Long", "form"), object
}

// TestFormLong: a long form shows a page of the items of an array, and sends what was typed.
func TestFormLong(t *testing.T) {
	x, form, object := long(t)
	list := x.node(form, "Items", "group")
	if found := x.nodes(list, "Items 21", "textbox"); len(found) > 0 {
		t.Error("more than one page of items is shown")
	}
	x.write(x.node(form, "Field7", "textbox"), "typed")
	x.write(x.node(form, "Items 3", "textbox"), "typed, too")
	x.press(form, "Save")
	x.says("Saved.")
	object["field7"], object["items"].([]any)[2] = "typed", "typed, too"
	x.expectObject("/api/v1/longs/a?context=main", object)
}

// maxKey is the time within which a key press must be shown in a long form, in milliseconds, on a
// processor that is slowed four times.
const maxKey = 50

// TestFormTimes judges the median of 20 key presses in fields of a long form.
func TestFormTimes(t *testing.T) {
	process.Measures(t)
	x, form, _ := long(t)
	slowed(t, x.ctx)
	for _, label := range []string{"Field7", "Items 3"} {
		judge(t, "a key press in "+label, maxKey, 170, func() float64 {
			return evaluate[float64](t, x.ctx, `(begin => (`+build+`, performance.now() - begin))(performance.now())`)
		}, func() float64 {
			took, err := strconv.ParseFloat(x.call(x.node(form, label, "textbox"), `async function() {
				this.focus();
				const times = [];
				for (let i = 0; i < 20; i++) {
					const begin = performance.now();
					document.execCommand("insertText", false, "x");
					await null; // which renders
					document.body.offsetHeight;
					times.push(performance.now() - begin);
				}
				return times.sort((a, b) => a - b)[10].toFixed(1);
			}`), 64)
			if err != nil {
				t.Fatal(err)
			}
			return took
		})
	}
}

// TestFormScreens keeps screenshots of forms of the advertising service.
func TestFormScreens(t *testing.T) {
	x := onConsole(t, marquee.Options{Application: resources.New().Application()})
	x.s.Do("PUT", "/api/v1/orders/spring?context=main", `{"name": "Spring"}`, 201)
	x.s.Do("PUT", "/api/v1/lineitems/front?context=main", `{"name": "Front page", "order": "spring", "startDate": "2031-03-01T12:00:00Z", "labels": ["a", "b"], "objectives": {"CLICK": 7}}`, 201)
	c := &console{keyboard: keyboard{t, x.ctx}, s: x.s}
	for name, set := range map[string]func(){"light": func() {}, "dark": func() { c.theme("dark") }, "360": func() { c.wide(360, 800) }} {
		set()
		x.show("/object/lineitems/front")
		x.node(0, "Front page", "form")
		screenshot(t, x.ctx, "form-"+name+".png")
		if wide := evaluate[string](t, x.ctx, `document.documentElement.scrollWidth > innerWidth ? "wide" : ""`); wide != "" {
			t.Errorf("the form is wider than the screen: %s", name)
		}
	}
	c.wide(1280, 900)
	x.press(x.node(0, "Front page", "form"), "Open Order beside the form")
	panel := x.node(0, "Spring", "form")
	for _, theme := range []string{"light", "dark"} {
		c.theme(theme)
		screenshot(t, x.ctx, "form-beside-"+theme+".png")
	}
	if covered := evaluate[bool](t, x.ctx, `document.querySelector(".beside").getBoundingClientRect().left < document.querySelector("main > .form").getBoundingClientRect().right`); covered {
		t.Error("what is beside a form covers it")
	}
	c.wide(360, 800) // where it takes the place of the form
	screenshot(t, x.ctx, "form-beside-360.png")
	c.within(360, "an object beside a form")
	if seen := evaluate[bool](t, x.ctx, `document.querySelector("main > .form input").checkVisibility({visibilityProperty: true})`); seen {
		t.Error("the keyboard reaches fields that are covered")
	}
	c.wide(1280, 900)
	x.write(x.node(panel, "Name", "textbox"), "Spring tides")
	x.press(panel, "Save")
	x.await(`!document.querySelector(".beside") && [...document.querySelectorAll("[role=combobox]")].some(e => e.value === "Spring tides")`)
}
