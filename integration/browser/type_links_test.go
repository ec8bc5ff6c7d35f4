package browser

import (
	"fmt"
	"net/http"
	"testing"
)

// TestTypeLinks: the page of a type leads to the types that its references name, and to those whose
// references name it; that of an object leads to the objects that refer to it.
func TestTypeLinks(t *testing.T) {
	x := onConsole(t, fairs())
	x.s.Do(http.MethodPost, "/api/v1/targets?context=main", `[{"id": "town", "name": "Town"}, {"id": "void", "name": "Void"}]`, http.StatusOK)
	x.s.Do(http.MethodPost, "/api/v1/fairs?context=main", `[{"id": "a", "name": "Autumn", "host": "town"}, {"id": "w", "name": "Winter", "host": "town"}, {"id": "s", "name": "Spring"}]`, http.StatusOK)
	x.show("/type/fairs")
	const row = `[...document.querySelectorAll("main tbody tr")].find(r => r.innerText.startsWith(%q))?.innerText.includes(%q)`
	x.await(fmt.Sprintf(row, "host", "Reference to Target"))
	x.referred("Find the types that refer to this one", "Stall fair")
	x.press(0, "Stall", "link")
	x.await(`location.pathname.endsWith("/type/stalls") && ` + fmt.Sprintf(row, "fair", "Reference to Fair"))
	x.referred("Find the types that refer to this one", "No type that you can see refers to this one.")

	x.show("/object/fairs/a")
	x.referred("Find what refers to this object", "Stall fair") // whose objects are listed below one fair alone
	x.show("/object/targets/void")
	x.referred("Find what refers to this object", "Nothing that you can see refers to this object.")
	x.show("/object/targets/town")
	x.referred("Find what refers to this object", "Fair host (2)")
	evaluate[string](t, x.ctx, `document.querySelector("main li a").click(); ""`)
	x.await(`location.search === "?where=host%3Dtown" && [...document.querySelectorAll("main tbody th")].map(e => e.innerText).sort().join() === "Autumn,Winter"`)
}

// referred asks for what refers to the type or the object of the page.
func (x *screen) referred(ask, want string) {
	x.t.Helper()
	x.press(0, ask)
	x.await(fmt.Sprintf(`[...document.querySelectorAll("main h2")].find(e => e.innerText === "Referred to by").nextElementSibling.innerText === %q`, want))
}
