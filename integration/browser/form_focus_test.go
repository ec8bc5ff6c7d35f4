package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/integration/marqueetest"
)

const fairSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Fair", "x-resource": {"path": "fairs"}, "required": ["name"],
	"properties": {
		"name": {"type": "string", "maxLength": 100},
		"host": {"$ref": "common/reference.json", "x-ref": "targets"},
		"begin": {"type": "string", "format": "date-time"}, "end": {"type": "string", "format": "date-time"},
		"price": {"type": "number", "minimum": 0, "exclusiveMaximum": 500, "description": "For one day."},
		"number": {"type": "string", "x-sequence": {"start": 7, "format": "F-{n}"}},
		"state": {"type": "string", "enum": ["NEW", "OPEN", "OVER"], "x-transitions": {"NEW": [{"to": "OPEN", "permission": "OPEN_FAIRS"}, "OVER"], "OPEN": [], "OVER": []}},
		"contact": {"type": "object", "properties": {"email": {"type": "string", "maxLength": 50}}},
		"stands": {"type": "array", "items": {"type": "object", "properties": {"owner": {"type": "string", "maxLength": 50}}}},
		"links": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 50}}},
	"if": {"properties": {"state": {"const": "OPEN"}}, "required": ["state"]}, "then": {"properties": {"visitors": {"type": "integer"}}},
	"x-compare": [{"left": "begin", "op": "<", "right": "end"}]}`

const stallSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Stall", "x-resource": {"path": "stalls", "parent": "fair"}, "required": ["fair"],
	"properties": {"fair": {"$ref": "common/reference.json", "x-ref": "fairs", "x-immutable": true}}}`

func fairs() marquee.Options {
	return marquee.Options{Schemas: fstest.MapFS{"fairs.json": {Data: []byte(fairSchema)}, "stalls.json": {Data: []byte(stallSchema)}, "targets.json": {Data: []byte(targetSchema)}}}
}

// TestFormFocus: whoever adds a part of an object, or creates the object of a reference, goes on typing in it, and the
// focus is not lost with a part that is removed.
func TestFormFocus(t *testing.T) {
	x := onConsole(t, fairs())
	x.show("/new/fairs")
	form := x.node(0, "New: Fair", "form")
	for button, want := range map[string]string{"Add Contact": "Email", "Add to Stands": "Owner", "Add Links": "Name of the new entry"} {
		// A key that is pressed next comes after what is queued here.
		got, err := chromedp.Run(x.ctx, chromedp.Evaluate[string](fmt.Sprintf(`new Promise(done => {
			[...document.querySelectorAll("main form button")].find(b => b.innerText.trim() === %q).click()
			queueMicrotask(() => done(document.activeElement.labels?.[0]?.innerText.trim() ?? document.activeElement.tagName))
		})`, button), chromedp.EvalAwaitPromise))
		if err != nil || got != want {
			t.Errorf("%q moves the focus to %q: %v", button, got, err)
		}
	}
	x.press(form, "Remove Contact")
	x.await(`document.activeElement.innerText === "Add Contact"`)
	x.s.Do("POST", "/api/v1/targets?context=main", `[{"id": "hall", "name": "Town hall"}, {"id": "town", "name": "Town"}]`, 200)
	host := x.node(form, "Host", "combobox")
	x.write(host, "Town") // of which an object has exactly the name, which comes first
	x.await(`document.querySelector("[role=option][aria-selected=true]")?.innerText === "Town town"`)
	x.write(host, "")
	x.press(form, "Create a new object for Host")
	beside := x.node(0, "New: Target", "form")
	x.write(x.node(beside, "Name", "textbox", "combobox"), "The town")
	x.press(beside, "Create")
	x.await(`[...document.querySelectorAll("main [role=combobox]")].some(e => e.value === "The town" && e === document.activeElement)`)
}

// TestFormWords: a form says which numbers are accepted, and names the fields of a fault by their labels.
func TestFormWords(t *testing.T) {
	x := onConsole(t, fairs())
	x.show("/new/fairs")
	form := x.node(0, "New: Fair", "form")
	x.await(`document.querySelector("main form").innerText.includes("For one day. At least 0. Less than 500.")`)
	x.write(x.node(form, "Name", "textbox", "combobox"), "Autumn")
	x.setTime(x.node(form, "Begin", "datetime-local"), "2027-01-02T10:00")
	x.setTime(x.node(form, "End", "datetime-local"), "2027-01-01T10:00")
	x.press(form, "Create")
	x.await(`document.querySelector("[role=alert]")?.innerText.includes("Begin must be less than End.")`)
}

// TestTypeInWords: the page of a type has no JSON.
func TestTypeInWords(t *testing.T) {
	x := onConsole(t, fairs())
	x.show("/type/fairs")
	x.await(`document.querySelector("main table")`)
	text := evaluate[string](t, x.ctx, `document.querySelector("main").innerText`)
	for _, want := range []string{"The service gives a number, from 7.", "Written as F-{n}", "NEW can become: OPEN (with the permission OPEN_FAIRS), OVER", "OPEN can become: nothing else", "under a condition", "One of: NEW, OPEN, OVER"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(text, `{"`) {
		t.Errorf("the page has JSON: %s", text)
	}
}

// TestListBelowParent: a list below a parent that has not been chosen asks for no objects, also when its address is opened again.
func TestListBelowParent(t *testing.T) {
	c := openConsole(t, fairs())
	c.show("/", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.visible("main .history")
	c.show("/networks/main/list/stalls", ".parent")
	c.await(`location.search === "?parent="`)
	before := len(c.seen.foreign("http://nobody.example"))
	c.run(chromedp.Reload())
	c.visible("main .parent")
	sent := c.seen.foreign("http://nobody.example")[before:]
	if slices.ContainsFunc(sent, func(url string) bool { return strings.Contains(url, "/api/v1/stalls") }) {
		t.Errorf("the page sends %q", sent)
	}
}

// TestFormSchemaChanges: a form whose schema changes while it is open says so, keeps what was typed, and
// sends nothing that the new schema does not have.
func TestFormSchemaChanges(t *testing.T) {
	x := onConsole(t, fairs())
	const path = "/api/v1/fairs/a?context=main"
	x.s.Do("PUT", path, `{"name": "Autumn", "price": 5}`, 201)
	x.show("/object/fairs/a")
	form := x.node(0, "Autumn", "form")
	x.write(x.node(form, "Name", "textbox", "combobox"), "Winter")
	x.write(x.node(form, "Price", "textbox"), "7")
	files := fairs().Schemas.(fstest.MapFS)
	lines := strings.Split(fairSchema, "\n")
	without := slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, `"price"`) })
	files["fairs.json"] = &fstest.MapFile{Data: []byte(strings.Join(without, "\n"))}
	x.s.Reload(files)
	x.press(form, "Save")
	x.await(`document.querySelector("main .warning")?.innerText.includes("will not be sent: price")`)
	x.press(form, "Save")
	x.says("Saved.")
	x.expectObject(path, map[string]any{"name": "Winter"})
	if sent := x.sent(); sent[len(sent)-1].Body != `{"name":"Winter"}` {
		t.Errorf("sent %v", sent)
	}
}

// TestConsoleNewType: a type whose file was added while a page is open is in the menu when the user comes back to it.
func TestConsoleNewType(t *testing.T) {
	x := onConsole(t, fairs())
	x.show("/list/users")
	x.await(`document.querySelectorAll("main tbody tr").length > 0 && document.querySelector("nav section")`)
	files := fairs().Schemas.(fstest.MapFS)
	files["loans.json"] = &fstest.MapFile{Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Loan", "x-resource": {"path": "loans"}, "properties": {"name": {"type": "string"}}}`)}
	x.s.Reload(files)
	evaluate[string](t, x.ctx, `dispatchEvent(new Event("focus")); ""`) // as a browser without a screen has no other window
	x.await(`document.querySelector('nav a[href$="/list/loans"]')`)
}

// TestConsoleBusy: a refusal that says when to come again is explained, and reads are repeated then.
func TestConsoleBusy(t *testing.T) {
	c := openConsole(t, fairs())
	c.s.Do("PUT", "/api/v1/fairs/a?context=main", `{"name": "Autumn"}`, 201)
	c.show("/networks/main/list/fairs", "input[name=username]")
	const refuse = `{
		const send = window.fetch;
		window.fetch = async (path, init) => {
			if (!path.includes(%q) || window.refused) return send(path, init);
			window.refused = true;
			return new Response('{"messages": [{"code": "error.test", "text": "Not now."}]}', {status: %d, headers: {"Content-Type": "application/json", "Retry-After": "%d"}});
		};
	} ""`
	evaluate[string](t, c.ctx, fmt.Sprintf(refuse, "authenticate", 429, 600))
	c.signIn(marqueetest.Password)
	c.await(`document.querySelector("[role=alert]").innerText === "Not now. Try again in 10 minutes."`)
	c.press(marqueetest.Password + kb.Enter)
	c.await(`document.querySelectorAll("main tbody tr").length === 1`)
	evaluate[string](t, c.ctx, "window.refused = false; "+fmt.Sprintf(refuse, "/api/v1/fairs", 503, 1))
	evaluate[string](t, c.ctx, `document.querySelector(".count button").click(); ""`)
	c.await(`document.querySelector(".status").innerText === "Not now. Trying again in 1 s."`)
	c.await(`document.querySelectorAll("main tbody tr").length === 1 && document.querySelector(".status").innerText === ""`)
}

// TestFormOrder: what is required is first, and a field that becomes required while somebody types stays where it is, as
// it would be behind the focus otherwise.
func TestFormOrder(t *testing.T) {
	const schema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Loan", "x-resource": {"path": "loans"}, "required": ["until"],
		"properties": {"kind": {"type": "string", "enum": ["OWN", "LENT"]}, "lender": {"type": "string", "maxLength": 40}, "until": {"type": "string", "format": "date"}},
		"if": {"properties": {"kind": {"const": "LENT"}}, "required": ["kind"]}, "then": {"required": ["lender"]}}`
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"loans.json": {Data: []byte(schema)}}})
	x.show("/new/loans")
	form := x.node(0, "New: Loan", "form")
	const labels = `[...document.querySelectorAll("main form .label")].map(e => e.innerText).join()`
	const before = "Until (required),Kind,Lender,id,Object state"
	if got := evaluate[string](t, x.ctx, labels); got != before {
		t.Errorf("the fields are %s, not %s", got, before)
	}
	x.choose(x.node(form, "Kind", "combobox"), "LENT")
	x.await(fmt.Sprintf(`%s === "Until (required),Kind,Lender (required),id,Object state"`, labels))
}
