package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

const tripSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Trip", "x-resource": {"path": "trips", "sort": ["name", "places"]}, "required": ["name"],
	"properties": {"name": {"type": "string", "maxLength": 40}, "places": {"type": "integer"}, "note": {"type": "string"}, "class": {"type": "string", "maxLength": 1}},
	"x-warnings": [{"code": "warning.trip.full", "text": "Nobody can come along.", "when": {"properties": {"places": {"const": 0}}, "required": ["places"]}}]}`

// tripList is the address of a list of trips.
const tripList = "/networks/main/list/trips?orderBy=name"

// TestConsoleLists: filters are in the address, which restores a list alone; named views are addresses that
// this browser keeps; and a page that is shorter than others says why.
func TestConsoleLists(t *testing.T) {
	c := openConsole(t, marquee.Options{Schemas: fstest.MapFS{"trips.json": {Data: []byte(tripSchema)}}})
	c.s.Do(http.MethodPost, "/api/v1/trips?context=main", `[{"id": "a", "name": "Ayr", "places": 5}, {"id": "b", "name": "Bonn", "places": 0},
		{"id": "c", "name": "Cork", "places": 2, "objectState": "HIDDEN"}, {"id": "d", "name": "Dover", "places": 7, "objectState": "INACTIVE"}]`, http.StatusOK)
	c.show(tripList, "input[name=username]")
	c.signIn(marqueetest.Password)
	c.shows("Ayr Bonn Dover")
	x := newScreen(t, c.ctx, c.s)
	c.filters(x)
	c.whereAsText(x)
	c.views(x)
	c.truncated(x)
}

// shows waits for a list of objects with these names, in this order.
func (c *console) shows(names string) {
	c.t.Helper()
	c.await(fmt.Sprintf(`!document.querySelector(".busy") && [...document.querySelectorAll("main tbody th")].map(e => e.innerText).join(" ") === %q`, names))
}

// unfold opens the panels of a list.
func (c *console) unfold() {
	c.t.Helper()
	evaluate[string](c.t, c.ctx, `document.querySelectorAll("main details.panel").forEach(d => d.open = true); ""`)
}

// again opens the address of the page once more, as somebody does who has been sent it.
func (c *console) again() {
	c.t.Helper()
	address := evaluate[string](c.t, c.ctx, `localStorage.clear(), location.href`)
	c.run(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	c.visible("main .count, main .notice")
}

func (c *console) filters(x *screen) {
	c.t.Helper()
	c.unfold()
	for _, filter := range []struct{ box, parameter, names string }{
		{"Active objects", "includeActive=false", "Dover"},
		{"Inactive objects", "includeInactive=false", "Ayr Bonn"},
		{"Hidden objects", "includeHidden=true", "Ayr Bonn Cork Dover"},
		{"Only those without warnings", "excludeInvalid=true", "Ayr Dover"},
	} {
		x.press(0, filter.box, "checkbox")
		c.shows(filter.names)
		if search := evaluate[string](c.t, c.ctx, "location.search"); search != "?orderBy=name&"+filter.parameter {
			c.t.Errorf("%s leads to %s", filter.box, search)
		}
		c.again()
		c.shows(filter.names)
		c.unfold()
		x.press(0, "Show all")
		c.shows("Ayr Bonn Dover")
	}
}

func (c *console) whereAsText(x *screen) {
	c.t.Helper()
	const area = "Conditions, separated by semicolons, as in the API"
	x.press(0, "Edit as text")
	x.write(x.node(0, area, "textbox"), "places>=2; name!=Dover")
	x.press(0, "Apply")
	c.shows("Ayr")
	x.press(0, "Edit as text")
	for _, mistake := range []struct{ where, fault string }{{"places>=2; price=3", "price"}, {"places between 2 and 3", "where cannot be read at character 8: expected an operator."}} {
		x.write(x.node(0, area, "textbox"), mistake.where)
		x.press(0, "Apply")
		c.await(fmt.Sprintf(`document.querySelector("main [role=alert]")?.innerText.includes(%q) && !document.querySelector("main tbody")`, mistake.fault))
		c.again()
		c.await(fmt.Sprintf(`document.querySelector("main [role=alert]")?.innerText.includes(%q)`, mistake.fault))
		c.unfold()
		if len(x.nodes(0, area, "textbox")) == 0 {
			x.press(0, "Edit as text")
		}
		if text := x.call(x.node(0, area, "textbox"), "function() { return this.value }"); text != mistake.where {
			c.t.Errorf("the conditions are %q now", text)
		}
	}
	x.write(x.node(0, area, "textbox"), "places in 5,7")
	x.press(0, "Apply")
	c.shows("Ayr Dover")
}

func (c *console) views(x *screen) {
	c.t.Helper()
	const name, of = "Left <b>over</b>", "?orderBy=name&columns=name%2Cplaces&where=places%3E%3D2"
	c.show("/networks/main/list/trips"+of, "main tbody")
	c.shows("Ayr Dover")
	c.unfold()
	x.write(x.node(0, "Name of this view", "textbox"), name)
	x.press(0, "Keep")
	x.node(0, name, "link")
	c.show(tripList, "main tbody") // which is not restored from the view
	c.shows("Ayr Bonn Dover")
	c.unfold()
	x.press(0, name, "link")
	c.shows("Ayr Dover")
	if search, heads := evaluate[string](c.t, c.ctx, "location.search"), c.text("main thead"); search != of || strings.Contains(heads, "Changed") || !strings.Contains(heads, "Places") {
		c.t.Errorf("the view leads to %s, with the columns %s", search, heads)
	}
	x.press(0, "Remove the view "+name)
	c.await(fmt.Sprintf(`![...document.querySelectorAll("main a")].some(e => e.innerText === %q)`, name))
	c.show(tripList, "main tbody")
	c.unfold()
	if found := x.nodes(0, name, "link"); len(found) > 0 {
		c.t.Error("a view that was removed is there again")
	}
}

func (c *console) truncated(x *screen) {
	c.t.Helper()
	const shorter = `document.querySelector("main").innerText.includes("This page is shorter than others because its objects are large.")`
	megabyte := strings.Repeat("a", 1_000_000) // of which a page has at most eight
	for i := range 9 {
		c.s.Do(http.MethodPut, fmt.Sprintf("/api/v1/trips/large%d?context=main", i), fmt.Sprintf(`{"name": "Large %d", "note": %q}`, i, megabyte), http.StatusCreated)
	}
	c.show(tripList+"&columns=name&where=places+is+null", "main tbody")
	if evaluate[bool](c.t, c.ctx, shorter) {
		c.t.Error("a page that is not shorter than others says so")
	}
	c.show(tripList+"&columns=name,note&where=places+is+null", "main tbody")
	c.await(shorter + ` && document.querySelector(".count").innerText.startsWith("1 to 8 of 9")`)
	screenshot(c.t, c.ctx, "console-truncated.png")
	x.press(0, "Next page", "link")
	c.await(`!` + shorter + ` && document.querySelector(".count").innerText.startsWith("9 to 9 of 9")`)
	c.shows("Large 8")
}

// TestConsolePlurals: texts of one object are in the singular, and those of many have separators in their numbers.
func TestConsolePlurals(t *testing.T) {
	c := openConsole(t, marquee.Options{Schemas: fstest.MapFS{"trips.json": {Data: []byte(tripSchema)}}})
	c.s.Do(http.MethodPut, "/api/v1/trips/a?context=main", `{"name": "Ayr", "places": 5}`, http.StatusCreated)
	c.s.Do(http.MethodPatch, "/api/v1/trips/a?context=main", `{"places": 0}`, http.StatusOK)
	says := func(selector, want string) {
		t.Helper()
		c.await(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.innerText.trim() === %q)`, "main "+selector, want))
	}
	c.show("/networks/main/notifications", "input[name=username]")
	c.signIn(marqueetest.Password)
	says(".count", "1 notification")
	c.show("/networks/main/history?type=trips&id=a", "main summary")
	says(".count", "2 changes")
	says("summary", "1 field")
	c.show("/networks/main/type/trips", "main table")
	says("li", "1 object that you can see")
	c.show(tripList, "main tbody")
	says(".warned", "1 warning")
	evaluate[string](t, c.ctx, `document.querySelector("main thead input[type=checkbox]").click(); ""`)
	says(".selection span", "1 object is selected")
	c.click("Change them")
	says(".many h2", "Change 1 object")
	c.click("Close")
	c.click("Export")
	c.click("Make the file")
	says(".many p", "The file has 1 object.")
	c.click("Close")
	c.click("Import")
	c.visible("main input[type=file]")
	c.upload("trips.ndjson", strings.Repeat(`{"name": "Trip"}`+"\n", 1001))
	says(".many p", "1,001 rows, of which 0 cannot be read")
	c.upload("trip.ndjson", `{"name": "Trip"}`+"\n")
	says(".many p", "1 row, of which 0 cannot be read")
	c.click("Preview the first row")
	c.click("Import 1 row")
	c.await(`document.querySelector(".many").innerText.includes("1 of 1: 1 written")`)
	c.show("/networks/main/object/trips/a", "main form")
	c.to(`main form input[id$="/class"]`)
	c.press("ab")
	c.to("main form button.primary")
	c.press(kb.Enter)
	says(".notes .fault", "Class is too long: the maximum length is 1.")
}

// TestConsoleBack: Back leads from an object to the list as it was, with its conditions and its order, and to the row of
// the object, from which the keyboard goes on.
func TestConsoleBack(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	orders(c.s, 60)
	const query = "?where=name%3E%3DOrder+010&orderBy=name&orderByDirection=DESCENDING"
	c.show("/networks/main/list/orders"+query, "input[name=username]")
	c.signIn(marqueetest.Password)
	const rows = `document.querySelectorAll("main tbody tr").length === 50`
	for _, width := range []int64{1280, 360} {
		c.wide(width, 740)
		c.await(rows)
		evaluate[string](t, c.ctx, `document.querySelectorAll("main tbody th a")[40].focus(); ""`)
		c.press(kb.Enter)
		c.await(`location.pathname.endsWith("/object/orders/order-019") && document.activeElement.matches("h1") && document.querySelector("main form")`)
		evaluate[string](t, c.ctx, `history.back(); ""`)
		c.await(rows + ` && document.activeElement.innerText === "Order 019"`)
		if at := evaluate[string](t, c.ctx, `location.search`); at != query {
			t.Errorf("Back leads to %s", at)
		}
		if seen := evaluate[bool](t, c.ctx, `(({left, top, width, height}) => document.elementFromPoint(left + width / 2, top + height / 2)?.closest("a") === document.activeElement)(document.activeElement.getBoundingClientRect())`); !seen {
			t.Errorf("%d pixels: the row is out of sight", width)
		}
	}
}
