package browser

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"

	"marquee"
	"marquee/integration/marqueetest"
)

// TestConsoleHTTP: the console works over HTTP from another machine, where browsers withhold some functions from pages.
// Objects are created, also below a parent and beside a form, many are changed, and somebody is given a role.
func TestConsoleHTTP(t *testing.T) {
	c := openConsole(t, marquee.Options{Schemas: fstest.MapFS{"parcels.json": {Data: []byte(parcelSchema)}, "tags.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Tag", "x-resource": {"path": "tags", "parent": "parcel"}, "required": ["parcel"],
		"properties": {"parcel": {"$ref": "common/reference.json", "x-ref": "parcels", "x-immutable": true}, "text": {"type": "string"}}}`)}}})
	c.s.Do(http.MethodPost, "/api/v1/roles/helper?context=main", `{"name": "Helper", "scope": "NETWORK", "permissions": []}`, http.StatusCreated)
	here := c.s.URL
	c.s.URL = strings.Replace(here, "127.0.0.1", elsewhere, 1)
	c.run(chromedp.Navigate(c.s.URL + "/console/"))
	c.signIn(marqueetest.Password)
	c.visible("header .who")
	if evaluate[bool](t, c.ctx, "isSecureContext") {
		t.Fatal("the page is a secure context")
	}
	x := newScreen(t, c.ctx, c.s)
	x.show("/new/parcels")
	form := x.node(0, "New: Parcel", "form")
	x.write(x.node(form, "Name", "textbox"), "Outer")
	x.press(form, "Create")
	parcel := x.created("parcels")[0]
	form = x.node(0, "Outer", "form")
	x.press(form, "Create a new object for Inside")
	inner := x.node(0, "New: Parcel", "form")
	x.write(x.node(inner, "Name", "textbox"), "Inner")
	x.press(inner, "Create")
	x.await(`!document.querySelector(".beside")`)
	x.press(form, "Save")
	x.says("Saved.")
	x.show("/new/tags?parent=" + parcel)
	form = x.node(0, "New: Tag", "form")
	x.write(x.node(form, "Text", "textbox"), "fragile")
	x.press(form, "Create")
	tag := x.created("tags")
	x.show("/list/parcels?orderBy=id")
	x.press(0, "Select the rows of this page", "checkbox")
	c.click("Change them")
	c.visible("select[name=property]")
	c.choose("select[name=property]", "note")
	x.write(x.node(x.node(0, "Change 2 objects", "form"), "Note", "textbox"), "changed")
	c.click("Try without writing")
	c.await(`document.querySelector(".many")?.innerText.includes("2 of 2: 2 accepted")`)
	c.click("Change 2 objects")
	c.await(`document.querySelector(".many")?.innerText.includes("2 of 2: 2 written")`)
	x.show("/access")
	x.press(0, "admin has the role Helper", "checkbox")
	c.click("Save: Users")
	c.await(`[...document.querySelectorAll("#users [role=status]")].some(e => e.innerText === "Saved: 1")`)
	there := c.s.URL
	c.s.URL = here
	x.expectObject("/api/v1/parcels/"+parcel+"?context=main", map[string]any{"name": "Outer", "note": "changed"})
	x.expectObject("/api/v1/tags/"+strings.Join(tag, "/")+"?context=main", map[string]any{"text": "fragile"})
	c.s.URL = there // which is the one that the page may ask
}
