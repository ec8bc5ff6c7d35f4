package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
)

// trap is a text that tries to become elements, to change the direction of its neighbours, and to leave its place.
const trap = `<img src=x onerror="window.hit=1">` + "user\u202etxt.exe"

// elements are those that a text has become, and texts whose controls can be neither seen nor typed.
const elements = `[...document.querySelectorAll("#console script, #console img, #console a button, #console button button, #console [href^='javascript' i], #console [src^='javascript' i]"),
	...[...document.querySelectorAll("#console *")].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.includes("\u202e")) || [...e.attributes].some(a => a.value.includes("\u202e") && !["id", "for", "aria-describedby", "aria-controls", "aria-activedescendant", "href", "value"].includes(a.name)))]
	.map(e => e.outerHTML.slice(0, 200)).join("\n") + (window.hit ?? "")`

// harmless fails if a text of the page is more than text, or if the page shows too much of it.
func (x *screen) harmless(name string) {
	x.t.Helper()
	if found := evaluate[string](x.t, x.ctx, elements); found != "" {
		x.t.Errorf("%s has elements of texts: %s", name, found)
	}
	if n := evaluate[int](x.t, x.ctx, `document.body.innerText.length`); n > 20_000 {
		x.t.Errorf("%s shows %d characters", name, n)
	}
	if n := evaluate[int](x.t, x.ctx, `document.querySelectorAll("*").length`); n > 2000 {
		x.t.Errorf("%s has %d elements", name, n)
	}
}

// seen is how a page shows the trap.
const seen = `<img src=x onerror="window.hit=1">user⟨U+202E⟩txt.exe`

// words are more than what is shown of a text at first.
var words = strings.Repeat(" words", 5000)

// TestConsoleHostileForms: names, descriptions, choices, messages and values are text in forms, too, and what is large
// is cut.
func TestConsoleHostileForms(t *testing.T) {
	property := func(title, kind string, more ...any) map[string]any {
		p := map[string]any{"type": kind, "title": title + trap, "description": trap + words}
		for i := 0; i < len(more); i += 2 {
			p[more[i].(string)] = more[i+1]
		}
		return p
	}
	text := map[string]any{"type": "string"}
	schema := jsonText(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Type" + trap, "description": trap + words, "type": "object", "required": []string{"name"}, "x-resource": map[string]any{"path": "traps", "group": trap},
		"properties": map[string]any{
			"name": text, "text": property("Text", "string"), "count": property("Count", "integer"), "link": property("Link", "string", "format", "uri"), "choice": property("Choice", "string", "enum", []string{trap, "b"}),
			"fixed": property("Fixed", "string", "x-immutable", true), "map": property("Map", "object", "additionalProperties", text), "list": property("List", "array", "items", text), "deep": property("Deep", "object", "additionalProperties", true),
			"twin": map[string]any{"title": "Twin", "x-ref": "traps"}, "kind": map[string]any{"title": "Kind" + trap, "oneOf": []any{map[string]any{"type": "string", "title": trap}, map[string]any{"type": "integer"}}},
			"long": map[string]any{"type": "string", "title": "Long" + words},
		},
		"x-warnings":    []any{map[string]any{"code": "warning.trap.a", "text": "General" + trap + words, "when": map[string]any{}}, map[string]any{"code": "warning.trap.b", "text": "Beside" + trap + words, "field": "/count", "when": map[string]any{}}},
		"x-validations": []any{map[string]any{"rule": "!has(self.count) || self.count != 3", "code": "error.trap.c", "text": "Fault" + trap + words, "field": "/count"}},
	})
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"traps.json": {Data: []byte(schema)}}})
	items := make([]string, 10_000)
	for i := range items {
		items[i] = fmt.Sprint("item ", i)
	}
	object := jsonText(map[string]any{"name": trap + words, "text": strings.Repeat("long ", 140_000), "count": 1, "link": "javascript:window.hit=1", "choice": trap, "fixed": trap + words, "map": map[string]any{trap: trap}, "twin": "a", "list": items, "kind": trap, "deep": "DEEP"})
	x.s.Do(http.MethodPut, "/api/v1/traps/a?context=main", strings.Replace(object, `"DEEP"`, strings.Repeat(`{"a":`, 60)+"1"+strings.Repeat("}", 60), 1), http.StatusCreated)
	for _, one := range []string{"roles", "teams"} {
		x.s.Do(http.MethodPost, "/api/v1/"+one+"?context=main", jsonText(map[string]any{"name": trap}), http.StatusOK)
	}
	for name, path := range map[string]string{"new": "/new/traps", "type": "/type/traps", "list": "/list/traps", "history": "/history", "overview": "", "notifications": "/notifications", "access": "/access"} {
		x.show(path)
		x.await(`document.querySelector("main form, main table, main .history") && !document.querySelector(".busy") && document.querySelector("main").innerText.includes("⟨U+202E⟩")`)
		x.harmless(name)
	}
	x.hostileForm()
	x.hostileImport()
}

// hostileForm: the form is used as any other, and shows the rest of what it cuts when it is asked to.
func (x *screen) hostileForm() {
	x.t.Helper()
	x.show("/object/traps/a")
	count := x.node(0, "Count"+seen, "textbox")
	x.harmless("form")
	x.call(x.node(0, "Twin", "combobox"), "function() { this.focus(); this.click() }")
	x.await(`document.querySelector("[role=listbox]:not([hidden]) [role=option]")?.innerText.includes("⟨U+202E⟩")`)
	x.write(count, "3")
	x.press(0, "Save")
	x.await(`document.querySelector("main [role=alert]")?.innerText.includes("Fault<img")`)
	x.harmless("faults")
	x.write(count, "4")
	x.press(0, "Save")
	x.says("Saved.")
	if sent := x.sent(); sent[1].Body != `{"count":4}` {
		x.t.Errorf("sent %.300v", sent)
	}
	x.press(0, "Show all 700,000 characters: Text"+seen)
	x.await(`[...document.querySelectorAll("main textarea")].some(e => e.value.length === 700000)`)
	beside := `[...document.querySelectorAll("main .field .warning")].find(e => e.innerText.startsWith("Beside<img"))`
	evaluate[string](x.t, x.ctx, beside+`.querySelector("button").click(); ""`)
	x.await(beside + `.innerText.length > 3000`)
}

// hostileImport: neither the columns of a file nor its rows are more than text.
func (x *screen) hostileImport() {
	x.t.Helper()
	c := &console{keyboard: keyboard{x.t, x.ctx}, s: x.s}
	x.show("/list/traps")
	c.click("Import")
	c.visible("main input[type=file]")
	c.upload(trap+".ndjson", jsonText(map[string]any{trap: trap + words, "name": trap + words, "count": trap})+"\n"+jsonText(map[string]any{"name": strings.Repeat("[", 100_000)})+"\n"+strings.Repeat("[", 100_000)+"\n")
	c.await(`document.querySelectorAll(".many tbody tr").length === 3`)
	x.harmless("columns")
	c.click("Preview the first 3 rows")
	c.await(`document.querySelector(".many").innerText.includes("3 of 3: 1 accepted, 2 refused")`)
	x.harmless("import")
}
