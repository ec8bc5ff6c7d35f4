package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestFormKeys: letters are no shortcuts in the fields of a form, the arrow opens a list at its first entry, and Escape
// closes what is beside the form.
func TestFormKeys(t *testing.T) {
	x := onConsole(t, fairs())
	c := &console{keyboard: keyboard{t, x.ctx}, s: x.s}
	x.s.Do("POST", "/api/v1/targets?context=main", `[{"id": "hall", "name": "Town hall"}]`, 200)
	x.show("/new/fairs")
	form := x.node(0, "New: Fair", "form")
	x.call(x.node(form, "Add Contact", "button"), "function() { this.focus() }")
	c.press("o")
	if at := evaluate[string](t, x.ctx, "location.pathname"); at != "/console/networks/main/new/fairs" {
		t.Fatalf("a letter leads from a button of the form to %s", at)
	}
	x.call(x.node(form, "Host", "combobox"), "function() { this.focus() }")
	c.press("zzz")
	x.await(`document.activeElement.closest(".reference").innerText.includes("Nothing was found.")`)
	if shown := evaluate[int](t, x.ctx, `document.querySelectorAll("main [role=listbox]:not([hidden]), main [aria-expanded=true][role=combobox]").length`); shown != 0 {
		t.Error("a list without entries is shown")
	}
	c.press(kb.Escape + kb.ArrowDown)
	x.await(`document.querySelector("main [role=option][aria-selected=true]")`)
	c.press(kb.Enter + kb.Tab + kb.Enter)
	x.await(`document.activeElement.matches(".beside h2")`)
	c.press(kb.Escape)
	x.await(`!document.querySelector(".beside") && document.activeElement.innerText === "Open"`)
}

// TestFormSaid: below a form, it is said that the object has been created, and that what is changed then is not saved.
func TestFormSaid(t *testing.T) {
	x := onConsole(t, fairs())
	x.show("/new/fairs")
	form := x.node(0, "New: Fair", "form")
	x.write(x.node(form, "Name", "textbox"), "Spring fair")
	x.press(form, "Create")
	said := func(text string) {
		x.await(`[...document.querySelectorAll("main form .actions [role=status]")].some(e => e.innerText === "` + text + `")`)
	}
	said("Created.")
	form = x.node(0, "Spring fair", "form")
	x.write(x.node(form, "Name", "textbox"), "Autumn fair")
	said("Not saved yet")
	x.press(form, "Save")
	said("Saved.")
	form = x.node(0, "Autumn fair", "form")
	x.press(form, "Add Links")
	x.press(form, "Add entry")
	x.node(form, "(no name)", "textbox")
	said("Not saved yet")
}
