package browser

import (
	"net/http"
	"slices"
	"testing"
)

// TestFormBelow: an object below a parent is made from the list of that parent, which its form knows, with an id that
// the form proposes. Without one of them, nothing is sent.
func TestFormBelow(t *testing.T) {
	x := onConsole(t, fairs())
	x.s.Do(http.MethodPut, "/api/v1/fairs/autumn?context=main", `{"name": "Autumn"}`, http.StatusCreated)
	x.show("/list/stalls?parent=autumn")
	x.press(0, "New", "link")
	form := x.node(0, "New: Stall", "form")
	id, fair := x.node(form, "id", "textbox"), x.node(form, "Fair", "combobox")
	const value = "function() { return this.value; }"
	if id, fair := x.call(id, value), x.call(fair, value); id == "" || fair != "autumn" {
		t.Errorf("the form proposes the id %q below %q", id, fair)
	}
	x.write(id, "")
	x.press(form, "Create")
	x.await(`document.querySelector("[role=alert]")?.innerText.includes("id: Enter a value: the path of the object has it.")`)
	x.write(id, "north/1")
	x.write(fair, "")
	x.press(form, "Create")
	x.await(`document.querySelector("[role=alert]")?.innerText.includes("Fair: Enter a value: the path of the object has it.")`)
	if sent := x.sent(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	x.refer(fair, "Autumn")
	x.press(form, "Create")
	if ids := x.created("stalls"); !slices.Equal(ids, []string{"autumn", "north/1"}) {
		t.Errorf("the object has the ids %q", ids)
	}
}
