package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"

	"marquee"
)

const parcelSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Parcel", "x-resource": {"path": "parcels"},
	"properties": {"name": {"type": "string"}, "weight": {"type": "integer"}, "codes": {"type": "array", "items": {"type": "integer"}}, "note": {"type": "string"},
		"marks": {"type": "object", "additionalProperties": {"type": "string"}}, "inside": {"x-ref": "parcels"}}, "required": ["name"]}`

func parcels(t *testing.T) *screen {
	t.Helper()
	return onConsole(t, marquee.Options{Schemas: fstest.MapFS{"parcels.json": {Data: []byte(parcelSchema)}}})
}

// TestFormKeepsNumbers: integers beyond those of JavaScript are read, written and put back as they
// are, and so are the ends of lines.
func TestFormKeepsNumbers(t *testing.T) {
	x := parcels(t)
	const path = "/api/v1/parcels/big?context=main"
	x.s.Do("PUT", path, `{"name": "Big", "weight": 9007199254740993, "codes": [9007199254740993, 1], "note": "a\r\nb"}`, 201)
	x.show("/object/parcels/big")
	form := x.node(0, "Big", "form")
	x.write(x.node(form, "Codes 2", "textbox"), "2")
	x.call(x.node(form, "Note", "textbox"), `function() { this.focus(); this.setSelectionRange(3, 3); document.execCommand("insertText", false, "c"); }`)
	x.press(form, "Save")
	x.says("Saved.")
	x.expectObject(path, map[string]any{"weight": int64(9007199254740993), "codes": []any{int64(9007199254740993), int64(2)}, "note": "a\r\nbc"})
	x.write(x.node(form, "Weight", "textbox"), "9223372036854775807")
	x.press(form, "Save")
	x.await(`sent.length === 2 && !document.querySelector("main .fault")`)
	x.says("Saved.")
	x.expectObject(path, map[string]any{"weight": int64(9223372036854775807)})

	x.show("/history?type=parcels&id=big")
	x.await(`document.querySelector("main .history details button") && document.querySelector("main").innerText.includes("9007199254740993")`)
	x.putBack()
	x.expectObject(path, map[string]any{"weight": int64(9007199254740993)})
}

// putBack puts the last change back that the page of the history shows.
func (x *screen) putBack() {
	x.t.Helper()
	evaluate[string](x.t, x.ctx, `document.querySelector("main .history details button").click(); ""`)
	x.await(`!!document.querySelector("dialog[open] .primary")`)
	evaluate[string](x.t, x.ctx, `document.querySelector("dialog[open] .primary").click(); ""`)
	x.await(`!document.querySelector("dialog[open]")`)
}

// TestConsolePutsBackMembers: putting a map back removes what was added to it.
func TestConsolePutsBackMembers(t *testing.T) {
	x := parcels(t)
	const path = "/api/v1/parcels/map?context=main"
	x.s.Do("PUT", path, `{"name": "Map", "marks": {"a": "1"}}`, 201)
	x.s.Do("PATCH", path, `{"marks": {"b": "2"}}`, 200)
	x.show("/history?type=parcels&id=map")
	x.await(`!!document.querySelector("main .history details button")`)
	x.putBack()
	x.expectObject(path, map[string]any{"marks": map[string]any{"a": "1"}})
}

// TestFormCreatesOnce: after a creation whose answer was lost, a form that was changed meanwhile
// changes the object in place of creating another one; and nothing can be typed while it is created.
func TestFormCreatesOnce(t *testing.T) {
	x := parcels(t)
	x.show("/new/parcels")
	evaluate[string](t, x.ctx, `{
		const send = window.fetch;
		window.fetch = async (path, init) => {
			const answer = await send(path, init);
			if (init.method !== "POST" || path.includes("authenticate") || window.lost) return answer;
			window.lost = true;
			window.inert = !!document.querySelector("form [inert]");
			throw new TypeError("lost");
		};
	} ""`)
	form := x.node(0, "New: Parcel", "form")
	x.write(x.node(form, "Name", "textbox"), "First")
	x.write(x.node(form, "Note", "textbox"), "kept")
	x.press(form, "Create")
	x.await(`document.querySelector("[role=alert]")?.innerText.includes("cannot be reached")`)
	if !evaluate[bool](t, x.ctx, "window.inert") {
		t.Error("what is typed while the object is created would be lost")
	}
	x.write(x.node(form, "Name", "textbox"), "Second")
	x.press(form, "Create")
	id := x.created("parcels")[0]
	x.expectObject("/api/v1/parcels/"+id+"?context=main", map[string]any{"name": "Second", "note": "kept"})
	if list := x.s.Do("GET", "/api/v1/parcels?context=main", "", 200); list["totalCount"] != int64(1) {
		t.Errorf("the form has created %v objects", list["totalCount"])
	}
	x.node(0, "Second", "heading")
}

// TestFormLeaving: signing out, and opening another object beside the form, ask before what was
// typed is lost.
func TestFormLeaving(t *testing.T) {
	x := parcels(t)
	x.s.Do("PUT", "/api/v1/parcels/a?context=main", `{"name": "Outer"}`, 201)
	x.show("/object/parcels/a")
	evaluate[string](t, x.ctx, `window.asked = 0; window.confirm = () => { asked++; return false }; ""`)
	form := x.node(0, "Outer", "form")
	create := x.node(form, "Create a new object for Inside", "button")
	x.call(create, "function() { this.click(); }")
	panel := x.node(0, "New: Parcel", "form")
	x.write(x.node(panel, "Name", "textbox"), "Half")
	x.await(`document.querySelector(".beside .actions span[role=status]")?.innerText.includes("Not saved")`)
	x.call(create, "function() { this.click(); }")
	if asked := evaluate[int](t, x.ctx, "asked"); asked != 1 {
		t.Errorf("another object beside the form: asked %d times", asked)
	}
	evaluate[string](t, x.ctx, `[...document.querySelectorAll("header button")].at(-1).click(); ""`)
	if asked := evaluate[int](t, x.ctx, "asked"); asked != 2 || !strings.Contains(x.text(), "Outer") {
		t.Errorf("signing out: asked %d times", asked)
	}
}

// TestConsolePaths: an address cannot lead requests to other paths of the service, and keeps its network; and a heading
// shows the controls that change the direction of text.
func TestConsolePaths(t *testing.T) {
	x := parcels(t)
	x.s.Do(http.MethodPut, "/api/v1/parcels/bidi?context=main", `{"name": "user\u202etxt.exe"}`, 201)
	x.show("/object/parcels/bidi")
	x.await(`document.querySelector("main h1")?.innerText === "user⟨U+202E⟩txt.exe"`)
	for _, path := range []string{"/new/parcels%3Fx=", "/new/..%2Fv1%2Fnetworks%2Fmain%3F", "/list/..%2Fschemas", "/type/a%2Fb", "/object/parcels%2Fbidi%3F/x"} {
		if err := chromedp.Do(x.ctx, chromedp.Navigate(x.s.URL+"/console/networks/main"+path)); err != nil {
			t.Fatal(err)
		}
		x.await(fmt.Sprintf(`document.querySelector("main h1, main [role=alert], main form")?.innerText === %q && document.querySelector("nav section a")`, "There is no such page, or you may not see it."))
	}
	var asked []string
	for _, url := range x.seen() {
		if strings.Contains(url, "/v1/networks/main?") || strings.Contains(url, "/v1/schemas") || strings.Contains(url, "?x=") {
			asked = append(asked, url)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the console asks for %v", asked)
	}
}

// seen returns the addresses that the page has asked for.
func (x *screen) seen() []string {
	x.t.Helper()
	return evaluate[[]string](x.t, x.ctx, `performance.getEntriesByType("resource").map(e => e.name)`)
}
