package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/client"
	"marquee/integration/marqueetest"
)

const boatSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Boat", "required": ["name"],
	"x-resource": {"path": "boats", "sort": ["name", "berths"]}, "properties": {
		"name": {"type": "string", "maxLength": 40}, "berths": {"type": "integer"}, "pin": {"type": "string", "maxLength": 40, "x-secret": true},
		"owner": {"type": "string", "maxLength": 40, "x-personal": true}, "length": {"type": "number"}, "built": {"type": "string", "format": "date"},
		"state": {"enum": ["NEW", "ASKED", "HELD", "SOLD", "GONE"], "x-initial": ["NEW", "ASKED"],
			"x-transitions": {"NEW": ["ASKED", {"to": "HELD", "permission": "HOLD_BOATS"}, {"to": "GONE", "rule": "!has(self.berths) || self.berths == 0"}], "ASKED": ["NEW"]}},
		"mooring": {"oneOf": [{"type": "object", "title": "Buoy", "properties": {"depth": {"type": "integer"}}, "additionalProperties": false},
			{"type": "object", "title": "Quay", "properties": {"place": {"type": "string", "maxLength": 40}}, "additionalProperties": false}]},
		"mark": {"oneOf": [{"type": "string", "maxLength": 9}, {"type": "integer"}]}, "drive": {"enum": ["SAIL", "MOTOR"]}},
	"oneOf": [{"properties": {"drive": {"const": "SAIL"}, "masts": {"type": "integer"}}, "required": ["masts"]}, {"properties": {"drive": {"const": "MOTOR"}, "power": {"type": "integer"}}}],
	"x-warnings": [{"code": "warning.boat.full", "text": "Nobody can sleep here.", "field": "/berths", "when": {"properties": {"berths": {"const": 0}}, "required": ["berths"]}},
		{"code": "warning.boat.stray", "text": "This boat is adrift.", "when": {"properties": {"owner": {"const": "nobody"}}, "required": ["owner"]}}]}`

const dory = "/api/v1/boats/dory?context=main"

// TestConsoleBoats: warnings, alternatives, columns, the first page, what cannot be put back, what a state can become,
// the end of all sessions, and the notes of the service.
func TestConsoleBoats(t *testing.T) {
	notes := map[string]string{"schemas": "refused since noon: the log has the details", "tide": "<b>high</b>"}
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"boats.json": {Data: []byte(boatSchema)}}, Notes: func() map[string]string { return notes }})
	c := &console{keyboard: keyboard{t, x.ctx}, s: x.s}
	x.s.Do(http.MethodPost, "/api/v1/roles/crew?context=main", `{"name": "Crew", "scope": "NETWORK", "permissions": ["MANAGE_OBJECTS"]}`, http.StatusCreated)
	x.s.Do(http.MethodPost, "/api/v1/users/ida", `{"username": "ida", "password": "`+marqueetest.Password+` too", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "crew"}]}]}}`, http.StatusCreated)
	x.s.Do(http.MethodPut, dory, `{"name": "Dory", "berths": 2, "owner": "nobody", "pin": "1", "length": 4, "built": "2020-05-01", "state": "NEW"}`, http.StatusCreated)
	ida := as(t, x.s, "ida")
	x.warnings()
	x.alternatives()
	c.columns(x)
	x.firstPage(ida)
	x.obstacles()
	x.steps()
	evaluate[string](t, x.ctx, `[...document.querySelectorAll("header button")].at(-1).click(); ""`)
	c.reloaded(`document.activeElement.matches("input[name=username]")`)
	c.press("ida" + kb.Tab + marqueetest.Password + " too" + kb.Enter)
	c.visible("header .who")
	x.offered("NEW, ASKED, GONE")
	c.endSessions(x, ida)
	c.signIn(marqueetest.Password)
	c.visible("header .who")
	c.notes()
}

// as returns the server for another user.
func as(t *testing.T, s *marqueetest.Server, username string) *marqueetest.Server {
	t.Helper()
	api, err := client.New(s.URL, client.Options{})
	if err == nil {
		err = api.SignIn(t.Context(), username, marqueetest.Password+" too")
	}
	if err != nil {
		t.Fatal(err)
	}
	other := *s
	other.Client = &http.Client{Transport: api.Transport()}
	return &other
}

// save saves the form, and returns the body that was sent last.
func (x *screen) save(form within, button string) (body map[string]any) {
	x.t.Helper()
	before := len(x.sent())
	x.press(form, button)
	x.await(fmt.Sprintf(`sent.length > %d && (location.pathname.includes("/object/") || document.querySelector("main [role=alert]")) && ![...document.querySelectorAll("main form [role=status]")].some(e => e.innerText === "Saving…")`, before))
	sent := x.sent()
	if err := json.Unmarshal([]byte(sent[len(sent)-1].Body), &body); err != nil {
		x.t.Fatal(err)
	}
	return body
}

// warnings: a warning is beside the field that it names, or above the form, and goes with its cause.
func (x *screen) warnings() {
	x.t.Helper()
	x.show("/object/boats/dory")
	form := x.node(0, "Dory", "form")
	berths := x.node(form, "Berths", "textbox")
	const described = `function() { return (this.getAttribute("aria-describedby") ?? "").split(" ").map(id => document.getElementById(id)?.innerText ?? "").join() + this.getAttribute("aria-invalid") }`
	if above := evaluate[string](x.t, x.ctx, `document.querySelector("main form > .warning").innerText`); above != "This boat is adrift." {
		x.t.Errorf("above the form is %q", above)
	}
	for _, step := range []struct{ typed, said string }{{"0", "Nobody can sleep here.false"}, {"2", "false"}} {
		x.write(berths, step.typed)
		x.save(form, "Save")
		if said := x.call(berths, described); said != step.said {
			x.t.Errorf("beside %s berths is %q", step.typed, said)
		}
	}
}

// alternatives: what was entered for an alternative is there again when it is chosen again, and only what is shown is
// sent. A text that another alternative cannot have is dropped.
func (x *screen) alternatives() {
	x.t.Helper()
	const value = "function() { return this.value }"
	x.show("/new/boats")
	form := x.node(0, "New: Boat", "form")
	x.write(x.node(form, "Name", "textbox"), "Ketch")
	for _, part := range []struct{ choice, first, field, typed, second, other, otherTyped, again string }{
		{"Drive", "SAIL", "Masts", "2", "MOTOR", "Power", "50", "2"},
		{"Kind of Mooring", "Buoy", "Depth", "5", "Quay", "Place", "A", "5"},
		{"Kind of Mark", "integer", "Mark", "7", "string", "Mark", "seven", ""},
	} {
		x.choose(x.node(form, part.choice, "combobox"), part.first)
		x.write(x.node(form, part.field, "textbox"), part.typed)
		x.choose(x.node(form, part.choice, "combobox"), part.second)
		x.write(x.node(form, part.other, "textbox"), part.otherTyped)
		if part.other != part.field && len(x.nodes(form, part.field, "textbox")) > 0 {
			x.t.Errorf("%s is shown beside %s", part.field, part.second)
		}
		x.choose(x.node(form, part.choice, "combobox"), part.first)
		if again := x.call(x.node(form, part.field, "textbox"), value); again != part.again {
			x.t.Errorf("%s is %q when %s is chosen again", part.field, again, part.first)
		}
	}
	x.write(x.node(form, "Mark", "textbox"), "8")
	if sent, want := x.save(form, "Create"), map[string]any{"name": "Ketch", "drive": "SAIL", "masts": 2., "mooring": map[string]any{"depth": 5.}, "mark": 8.}; !reflect.DeepEqual(sent, want) {
		x.t.Errorf("sent %s", jsonText(sent))
	}
}

const heads = `[...document.querySelectorAll("main thead th")].map(e => e.innerText.replace(/ [↕↓↑]/, "")).join()`

// columns: the panel adds, removes and orders columns, of which the address has all, and keeps the focus near. Dates are
// those of the calendar wherever the browser is. On a phone, the menu gives way to the list that is chosen in it.
func (c *console) columns(x *screen) {
	c.t.Helper()
	zone := func(name string) {
		c.t.Helper()
		if _, err := chromedp.Call(c.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name}); err != nil {
			c.t.Fatal(err)
		}
	}
	zone("America/New_York")
	c.show("/networks/main/list/boats?columns=name,built", "main tbody")
	c.await(`document.querySelector("main tbody").innerText.includes("May 1, 2020")`)
	zone("")
	c.unfold()
	expect := func(columns, titles, focus string) {
		c.t.Helper()
		c.await(fmt.Sprintf(`new URLSearchParams(location.search).get("columns") === %q && %s === %q`, columns, heads, titles))
		if got := evaluate[string](c.t, c.ctx, `document.activeElement.ariaLabel ?? document.activeElement.labels?.[0].innerText.trim() ?? ""`); focus != "" && !strings.HasPrefix(got, focus) {
			c.t.Errorf("with the columns %s, the focus is on %q", columns, got)
		}
	}
	x.choose(x.node(0, "Add a column", "combobox"), "Owner")
	expect("name,built,owner", "Name,Built,Owner", "Add a column")
	x.press(0, "Move Owner to the left")
	expect("name,owner,built", "Name,Owner,Built", "Move Owner to the left")
	x.press(0, "Move Owner to the right")
	expect("name,built,owner", "Name,Built,Owner", "Move Owner to the left")
	x.press(0, "Remove Name")
	expect("built,owner", "Built,Owner", "Add a column")
	c.again()
	expect("built,owner", "Built,Owner", "")
	c.unfold()
	x.press(0, "Show the usual columns")
	c.await(fmt.Sprintf(`location.search === "" && %s === "Name,Berths,State,State of the object,Changed,Warnings"`, heads))

	c.wide(360, 740)
	evaluate[string](c.t, c.ctx, `document.querySelector("nav details").open = true; document.querySelector("nav a[href$='/list/users']").click(); ""`)
	c.await(`document.querySelector("main h1").innerText === "User" && !document.querySelector("nav details").open`)
	c.wide(1280, 900)
}

// firstPage: it has what happened lately, what the user has worked on, and the warnings about what the user created.
func (x *screen) firstPage(other *marqueetest.Server) {
	x.t.Helper()
	other.Do(http.MethodPatch, dory, `{"berths": 0}`, http.StatusOK)
	other.Do(http.MethodPut, "/api/v1/boats/yawl?context=main", `{"name": "Yawl", "berths": 0}`, http.StatusCreated)
	x.show("")
	x.await(`document.querySelectorAll("main section").length === 3 && document.querySelector("main .history").innerText.includes("Boat ")`) // the title of the type comes later than its objects
	section := func(heading string) string {
		return evaluate[string](x.t, x.ctx, fmt.Sprintf(`[...document.querySelectorAll("main section")].find(e => e.querySelector("h2").innerText === %q).innerText`, heading))
	}
	lately := strings.Split(section("Latest changes"), "Boat ")
	if len(lately) < 3 || !strings.HasPrefix(lately[1], "Yawl was created.") || !strings.HasPrefix(lately[2], "Dory was changed.") || !strings.Contains(lately[2], "ida") {
		x.t.Errorf("the latest changes are %q", lately)
	}
	if work := section("What you have worked on"); strings.Count(work, "Dory") != 1 || strings.Contains(work, "Yawl") {
		x.t.Errorf("the user has worked on %s", work)
	}
	if warned := section("Warnings about what you created"); !strings.Contains(warned, "Nobody can sleep here.") || !strings.Contains(warned, "Boat Dory has a new warning:") || strings.Contains(warned, "Yawl") {
		x.t.Errorf("the warnings are %s", warned)
	}
}

// obstacles: of a change, the page says which fields cannot be put back, and why.
func (x *screen) obstacles() {
	x.t.Helper()
	x.s.Do(http.MethodPatch, dory, `{"name": "Drifter", "pin": "2", "owner": "Ole", "length": 5}`, http.StatusOK)
	x.s.Do(http.MethodPost, "/api/v1/boats/dory/erase?context=main", "", http.StatusOK)
	x.s.Reload(fstest.MapFS{"boats.json": {Data: []byte(strings.Replace(boatSchema, `"length": {"type": "number"},`, "", 1))}})
	x.show("/history?type=boats&id=dory")
	const entry = `[...document.querySelectorAll("main .history > li")].find(e => e.querySelector("table")?.textContent.includes("Drifter"))`
	x.await(fmt.Sprintf("%s?.querySelector(%q)", entry, "details button"))
	evaluate[string](x.t, x.ctx, entry+`.querySelector("summary").click(); `+entry+`.querySelector("details button").click(); ""`)
	x.await(`!!document.querySelector("dialog[open] .primary")`)
	const secret = "A secret or erased value, which the history does not have"
	want := map[string]string{"Name": "Dory", "Pin": secret, "Owner": secret, "Length": "The type no longer has this field"}
	if got := evaluate[map[string]string](x.t, x.ctx, `Object.fromEntries([...document.querySelectorAll("dialog tbody tr")].map(e => [e.cells[0].innerText, e.cells[2].innerText]))`); !reflect.DeepEqual(got, want) {
		x.t.Errorf("what will be put back is %v", got)
	}
	evaluate[string](x.t, x.ctx, `document.querySelector("dialog[open] .primary").click(); ""`)
	x.await(`!document.querySelector("dialog[open]")`)
	if sent := x.sent(); sent[0].Body != `{"name":"Dory"}` {
		x.t.Errorf("sent %v", sent)
	}
}

// steps: a state offers what it can be first, or become. A step that the service refuses says why at its field.
func (x *screen) steps() {
	x.t.Helper()
	x.show("/new/boats")
	if first := x.options(x.node(x.node(0, "New: Boat", "form"), "State", "combobox")); first != "Not set, NEW, ASKED" {
		x.t.Errorf("a new boat can be %s", first)
	}
	x.s.Do(http.MethodPut, "/api/v1/boats/barge?context=main", `{"name": "Barge", "berths": 3, "state": "NEW"}`, http.StatusCreated)
	form := x.offered("NEW, ASKED, HELD (needs HOLD_BOATS), GONE")
	state := x.node(form, "State", "combobox")
	x.choose(state, "GONE")
	x.save(form, "Save")
	if said := x.call(state, `function() { return document.getElementById(this.getAttribute("aria-describedby")).innerText }`); !strings.Contains(said, "self.berths == 0") {
		x.t.Errorf("the field of a step that was refused says %q", said)
	}
	x.choose(state, "ASKED")
	x.save(form, "Save")
	if next := x.options(state); next != "ASKED, NEW" {
		x.t.Errorf("a boat that was asked for can be %s", next)
	}
	x.choose(state, "NEW")
	x.save(form, "Save")
}

// offered compares what the state of the barge offers, and returns its form.
func (x *screen) offered(want string) within {
	x.t.Helper()
	x.show("/object/boats/barge")
	form := x.node(0, "Barge", "form")
	if next := x.options(x.node(form, "State", "combobox")); next != want {
		x.t.Errorf("a new boat can become %s", next)
	}
	return form
}

// options returns the texts of the options of a select.
func (x *screen) options(of within) string {
	x.t.Helper()
	return x.call(of, `function() { return [...this.options].map(o => o.text).join(", ") }`)
}

// endSessions: after a question, all sessions of the user end, of which the page has one.
func (c *console) endSessions(x *screen, elsewhere *marqueetest.Server) {
	c.t.Helper()
	x.show("/account")
	evaluate[string](c.t, c.ctx, `window.asked = 0; window.confirm = () => asked++ > 0; ""`)
	x.press(0, "End all sessions, also this one")
	if asked := evaluate[int](c.t, c.ctx, "asked"); asked != 1 || len(x.sent()) > 0 {
		c.t.Errorf("the page asks %d times, and sends %v", asked, x.sent())
	}
	x.press(0, "End all sessions, also this one")
	c.reloaded(`document.activeElement.matches("input[name=username]") && sessionStorage.getItem("marquee.refresh") === null`)
	elsewhere.Do(http.MethodGet, dory, "", http.StatusUnauthorized)
}

// notes: an administrator reads what needs attention, such as schemas that were refused, and why the service takes no
// requests.
func (c *console) notes() {
	c.t.Helper()
	c.run(chromedp.Navigate(c.s.URL + "/console/networks/main/health"))
	c.visible("main dl.notes")
	const said = `Object.fromEntries([...document.querySelectorAll("main dl.notes > div")].map(e => [e.querySelector("dt").innerText, e.querySelector("dd").innerText]))`
	want := map[string]string{"Refused or missing schemas": "refused since noon: the log has the details", "tide": "<b>high</b>"}
	if got := evaluate[map[string]string](c.t, c.ctx, said); !reflect.DeepEqual(got, want) || !strings.Contains(c.text("main"), "needs attention") {
		c.t.Errorf("the page says %s", c.text("main"))
	}
	c.s.Marquee.Drain()
	c.click("Check again")
	c.await(`document.querySelector("main [role=alert]")?.innerText.includes("shut") && !document.querySelector("main dl")`)
}
