package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/integration/marqueetest"
)

func crates() marquee.Options {
	schema := func(title, resource, property, required string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": %q, "x-resource": {%s}, "properties": {"name": {"type": "string"}, %s}, "required": [%s]}`, title, resource, property, required)}
	}
	const methods = `"methods": ["GET", "POST", "PUT", "DELETE"]`
	return marquee.Options{Schemas: fstest.MapFS{
		"crates.json": schema("Crate", `"path": "crates", "permissions": {"write": "MOVE_CRATES"}, `+methods, `"inside": {"x-ref": "crates"}`, `"name"`),
		"labels.json": schema("Label", `"path": "labels", "parent": "crate", `+methods, `"crate": {"$ref": "common/reference.json", "x-ref": "crates", "x-immutable": true}`, `"crate"`),
		"stamps.json": schema("Stamp", `"path": "stamps"`, `"cents": {"type": "integer"}`, `"name"`),
	}}
}

// removing has the parts of tests that remove an object by keyboard.
type removing struct {
	*console
	x *screen
}

// open shows the page of an object, and the dialog that asks whether to remove it.
func (r removing) open(path, name string) {
	r.t.Helper()
	r.x.show(path)
	r.await(fmt.Sprintf(`document.querySelector("main h1")?.innerText === %q && document.querySelector("main form")`, name))
	r.ask(name)
}

func (r removing) ask(name string) {
	r.t.Helper()
	const remove = `[...document.querySelectorAll("main form .actions button")].find(b => b.innerText === "Remove…")`
	r.await(remove)
	evaluate[string](r.t, r.ctx, remove+`.id = "remove-open"; ""`)
	r.to("#remove-open")
	r.press(kb.Enter)
	r.await(fmt.Sprintf(`document.querySelector("dialog[open] h2").innerText === %q && document.activeElement.innerText === "Cancel"`, "Remove "+name+"?"))
}

// confirm chooses Remove in the dialog.
func (r removing) confirm() {
	r.t.Helper()
	r.to("dialog[open] .primary")
	r.press(kb.Enter)
}

func (r removing) refused(text string) {
	r.t.Helper()
	r.await(fmt.Sprintf(`document.querySelector("dialog[open] [role=alert]")?.innerText.includes(%q) && document.activeElement.matches("dialog .primary")`, text))
}

// removed waits for the list, which says what has been removed.
func (r removing) removed(name, list string) {
	r.t.Helper()
	r.await(fmt.Sprintf(`(location.pathname + location.search).endsWith(%q) && [...document.querySelectorAll("main [role=status]")].some(e => e.innerText === %q) && document.activeElement.matches("h1")`, list, name+" has been removed."))
}

// TestConsoleRemoves: an object is removed from its page, after a question, unless others refer to it or somebody has
// changed it meanwhile. A request whose answer was lost can be sent again.
func TestConsoleRemoves(t *testing.T) {
	x := onConsole(t, crates())
	script := axe(t)
	r := removing{&console{keyboard: keyboard{t, x.ctx}, s: x.s}, x}
	r.wide(1280, 900)
	const outer, inner = "/api/v1/crates/outer?context=main", "/api/v1/crates/inner?context=main"
	r.s.Do(http.MethodPut, inner, `{"name": "Inner"}`, http.StatusCreated)
	r.s.Do(http.MethodPut, outer, `{"name": "Outer", "inside": "inner"}`, http.StatusCreated)
	r.s.Do(http.MethodPut, "/api/v1/labels/outer/l?context=main", `{"name": "Fragile"}`, http.StatusCreated)

	r.open("/object/crates/inner", "Inner")
	accessible(t, r.ctx, script, "the question")
	screenshot(t, r.ctx, "console-remove.png")
	r.press(kb.Escape)
	r.await(`!document.querySelector("dialog") && document.activeElement.innerText === "Remove…"`)
	r.press(kb.Enter)
	r.confirm()
	r.refused("Other objects refer to this one")
	for _, of := range []string{"light", "dark"} {
		r.theme(of)
		accessible(t, r.ctx, script, "a refusal, "+of)
	}
	r.theme("light")
	screenshot(t, r.ctx, "console-remove-refused.png")
	r.press(kb.Escape)
	r.await(`!document.querySelector("dialog") && document.activeElement.innerText === "Remove…"`)

	r.s.Do(http.MethodPatch, outer, `{"inside": null}`, http.StatusOK)
	r.s.Do(http.MethodPatch, inner, `{"name": "Renamed"}`, http.StatusOK)
	r.press(kb.Enter)
	r.confirm()
	r.refused("Somebody has changed this object")
	r.s.Do(http.MethodGet, inner, "", http.StatusOK)
	r.press(kb.Enter) // Show it as it is now
	r.await(`!document.querySelector("dialog") && document.activeElement.matches("h1") && document.activeElement.innerText === "Renamed"`)
	r.ask("Renamed")
	r.confirm()
	r.removed("Renamed", "/list/crates")
	r.s.Do(http.MethodGet, inner, "", http.StatusNotFound)
	accessible(t, r.ctx, script, "the list")
	screenshot(t, r.ctx, "console-removed.png")
	r.x.show("/history?type=crates&id=inner")
	r.await(`document.querySelector("main .history .what")?.innerText === "was removed."`)

	r.open("/object/labels/outer/l", "Fragile")
	r.confirm()
	r.removed("Fragile", "/list/labels?parent=outer")

	r.open("/object/crates/outer", "Outer")
	evaluate[string](t, r.ctx, `window.send = window.fetch; window.fetch = async (path, init) => { const answer = await send(path, init); if (init.method === "DELETE") throw new TypeError("lost"); return answer }; ""`)
	r.confirm()
	r.refused("it is not known whether the object has been removed")
	r.s.Do(http.MethodGet, outer, "", http.StatusNotFound)
	evaluate[string](t, r.ctx, `window.fetch = send; ""`)
	r.press(kb.Enter)
	r.removed("Outer", "/list/crates")

	r.s.Do(http.MethodPut, outer, `{"name": "Outer"}`, http.StatusCreated)
	r.open("/object/crates/outer", "Outer")
	r.s.Do(http.MethodDelete, outer, "", http.StatusNoContent)
	r.confirm()
	r.refused("has been removed already")
	r.press(kb.Enter) // Go to the list
	r.await(`location.pathname.endsWith("/list/crates") && document.activeElement.matches("h1") && !document.querySelector("main").innerText.includes("has been removed")`)
}

// TestConsoleRemoveOffered: removing is offered where the type has it, to whoever may write, and not while there are
// unsaved changes.
func TestConsoleRemoveOffered(t *testing.T) {
	x := onConsole(t, crates())
	const role = "/api/v1/roles/movers?context=main"
	x.s.Do(http.MethodPut, "/api/v1/crates/c?context=main", `{"name": "Crate"}`, http.StatusCreated)
	x.s.Do(http.MethodPut, "/api/v1/stamps/s?context=main", `{"name": "Stamp"}`, http.StatusCreated)
	const offered = `[...document.querySelectorAll("main button")].some(b => b.innerText === "Remove…")`
	shown := func(path, name string) within {
		t.Helper()
		x.show(path)
		x.await(`document.querySelector("nav section a")`) // the types are known
		return x.node(0, name, "form")
	}
	form := shown("/object/stamps/s", "Stamp")
	x.node(form, "Save", "button")
	if evaluate[bool](t, x.ctx, offered) {
		t.Error("a type without DELETE has the button")
	}
	form = shown("/object/crates/c", "Crate")
	x.await(offered)
	x.write(x.node(form, "Name", "textbox"), "Changed")
	x.await("!" + offered)
	x.write(x.node(form, "Name", "textbox"), "Crate")
	x.await(offered)

	x.s.Do(http.MethodPut, role, `{"name": "Movers", "scope": "NETWORK", "permissions": ["MOVE_CRATES"]}`, http.StatusCreated)
	x.s.Do(http.MethodPut, "/api/v1/users/mover", `{"username": "mover", "password": "`+marqueetest.Password+` too", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "movers"}]}]}}`, http.StatusCreated)
	evaluate[string](t, x.ctx, `sessionStorage.clear(); ""`)
	r := removing{&console{keyboard: keyboard{t, x.ctx}, s: x.s}, x}
	r.show("/networks/main", "input[name=username]")
	r.await(`document.activeElement?.matches("input[name=username]")`)
	r.press("mover" + kb.Tab + marqueetest.Password + " too" + kb.Enter)
	r.visible("header .who")
	r.open("/object/crates/c", "Crate")
	x.s.Do(http.MethodPatch, role, `{"permissions": []}`, http.StatusOK)
	r.confirm()
	r.await(`document.querySelector("dialog[open] [role=alert]")`)
	if text := r.text("dialog[open] [role=alert]"); !strings.Contains(text, "permission") {
		t.Errorf("without the permission, the dialog says %q", text)
	}
	r.x.show("/object/crates/c")
	r.await(`document.querySelector("nav section a") && document.querySelector("main form")`)
	if evaluate[bool](t, r.ctx, offered) {
		t.Error("somebody who may not write is offered to remove")
	}
}
