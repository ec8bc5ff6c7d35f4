package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// console is a browser that shows the console of a server.
type console struct {
	keyboard
	s    *marqueetest.Server
	seen *requests
	mu   sync.Mutex
	// errors are what the browser has reported: exceptions, and what the policy has refused.
	errors []string
	// failed are the requests of which the browser has reported that they failed.
	failed []string
	// provoked is a part of the errors that the test has caused on purpose.
	provoked string
}

// openConsole starts a server and a browser, whose errors and requests of other hosts fail the
// test at its end.
func openConsole(t *testing.T, options marquee.Options) *console {
	t.Helper()
	find(t)
	c := &console{s: marqueetest.StartWith(t, options)} // which ends after the page, whose requests it would wait for
	var ctx context.Context
	ctx, c.seen = open(t, func(event any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			c.errors = append(c.errors, fmt.Sprint(e.ExceptionDetails.Text, " ", e.ExceptionDetails.Exception))
		case *cdplog.EventEntryAdded:
			switch {
			case e.Entry.Level != cdplog.EntryLevelError:
			case e.Entry.Source == cdplog.EntrySourceNetwork:
				c.failed = append(c.failed, e.Entry.Text+" "+e.Entry.URL)
			default:
				c.errors = append(c.errors, e.Entry.Text)
			}
		case *runtime.EventConsoleAPICalled:
			if e.Type == "error" {
				c.errors = append(c.errors, fmt.Sprint(e.Args))
			}
		}
	})
	c.keyboard = keyboard{t, ctx}
	c.wide(1280, 900)
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, text := range c.errors {
			if c.provoked == "" || !strings.Contains(text, c.provoked) {
				t.Errorf("the browser reports %s", text)
			}
		}
		if foreign := c.seen.foreign(c.s.URL); len(foreign) > 0 {
			t.Errorf("the console asks for %v", foreign)
		}
	})
	return c
}

func (c *console) wide(width, height int64) {
	c.t.Helper()
	c.run(chromedp.EmulateViewport(width, height))
}

// show opens a page of the network, and waits until it has a selector.
func (c *console) show(path, selector string) {
	c.t.Helper()
	c.run(chromedp.Navigate(c.s.URL + "/console" + path))
	c.visible(selector)
}

// signIn signs in with the keyboard, from the page that asks for it.
func (c *console) signIn(password string) {
	c.t.Helper()
	c.await(`document.activeElement?.matches("input[name=username]")`)
	c.press(marqueetest.Username + kb.Tab + password + kb.Enter)
}

// text returns what an element shows.
func (c *console) text(selector string) string {
	c.t.Helper()
	return evaluate[string](c.t, c.ctx, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// waiting returns whether an expression of the page becomes true within some time. Unlike a poll
// of chromedp, it makes no function of a text, which the policy forbids. An expression that throws
// is not true yet.
const waiting = `new Promise(done => {
	const until = Date.now() + 20000
	const look = () => { let met = false; try { met = %s } catch {} if (met) done(true); else if (Date.now() > until) done(false); else setTimeout(look, 10) }
	look()
})`

// await waits for an expression of the page to be true.
func (c *console) await(expression string) {
	c.t.Helper()
	met, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool](fmt.Sprintf(waiting, expression), chromedp.EvalAwaitPromise))
	if err != nil || !met {
		screenshot(c.t, c.ctx, "console-failed.png")
		c.t.Fatalf("%s is not true: %v: %v %.2000s", expression, err, c.errors, c.text("body"))
	}
}

// reloaded waits for an expression to be true after the page has loaded itself again, which ends
// what is evaluated in it.
func (c *console) reloaded(expression string) {
	c.t.Helper()
	for c.ctx.Err() == nil {
		expression := fmt.Sprintf(`performance.getEntriesByType("navigation")[0].type === "reload" && %s`, expression)
		if met, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool](fmt.Sprintf(waiting, expression), chromedp.EvalAwaitPromise)); err == nil && met {
			return
		}
	}
	c.t.Fatalf("the page is not loaded again: %s", c.text("body"))
}

// visible waits until an element can be seen.
func (c *console) visible(selector string) {
	c.t.Helper()
	c.await(fmt.Sprintf("document.querySelector(%q)?.checkVisibility()", selector))
}

// theme emulates the preference of the user for light or dark.
func (c *console) theme(name string) {
	c.t.Helper()
	c.media(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: name})
}

// media emulates what the user prefers.
func (c *console) media(features ...*emulation.MediaFeature) {
	c.t.Helper()
	if _, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		c.t.Fatal(err)
	}
}

func orders(s *marqueetest.Server, n int) {
	var operations []string
	for i := range n {
		operations = append(operations, fmt.Sprintf(`{"id": "order-%03d", "name": "Order %03d", "externalReference": "R%d"}`, i, i, i%7))
	}
	s.Do(http.MethodPost, "/api/v1/orders?context=main", "["+strings.Join(operations, ",")+"]", http.StatusOK)
}

// TestConsole signs in, finds objects and opens them with the keyboard alone.
func TestConsole(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	orders(c.s, 120)
	c.run(chromedp.Navigate(c.s.URL + "/"))
	c.signIn("a wrong password")
	c.await(`document.querySelector("[role=alert]").innerText.includes("wrong")`)
	c.press(marqueetest.Password + kb.Enter)
	c.visible("main .history")
	if path := evaluate[string](t, c.ctx, "location.pathname"); path != "/console/networks/main" {
		t.Errorf("the first page is %s", path)
	}

	c.to(`nav a[href$="/list/orders"]`)
	c.press(kb.Enter)
	c.await(`document.querySelectorAll("main tbody tr").length === 50 && document.activeElement.matches("h1")`)
	for _, step := range []struct{ button, first string }{{"Next page", "51 to 100"}, {"Next page", "101 to 120"}, {"Previous page", "51 to 100"}, {"Previous page", "1 to 50"}} {
		c.click(step.button)
		c.await(fmt.Sprintf(`document.querySelector(".count")?.innerText.startsWith(%q)`, step.first))
	}
	evaluate[string](t, c.ctx, `document.querySelector("h1").focus(); ""`)
	if count := c.text(".count"); !strings.Contains(count, "1 to 50 of 120") {
		t.Errorf("the list counts %q", count)
	}
	c.to("input[type=search]")
	c.press("R3" + kb.Enter)
	c.await(`document.querySelector(".count")?.innerText.includes("of 17")`)
	c.to("main thead button.sort")
	c.press(kb.Enter)
	c.await(`location.search.includes("orderBy=name") && document.querySelector("main tbody th")?.innerText === "Order 003"`)

	c.to(".panel > summary")
	c.press(" ")
	c.to(".panel[open] .actions button")
	c.press(kb.Enter)
	c.to(`.conditions input, .conditions select:nth-of-type(3)`)
	c.press("Order 017" + kb.Enter)
	c.await(`new URLSearchParams(location.search).get("where") === "name=Order 017" && document.querySelectorAll("main tbody tr").length === 1`)

	// The address is the state: another tab with it shows the same.
	address := evaluate[string](t, c.ctx, "location.href")
	c.run(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	c.await(`document.querySelectorAll("main tbody tr").length === 1 && document.querySelector("input[type=search]").value === "R3"`)
	c.press("j" + kb.Enter)
	c.await(`location.pathname.endsWith("/object/orders/order-017")`)
	c.press("?")
	c.visible("dialog[open]")
	c.press(kb.Escape)
	c.await(`!document.querySelector("dialog[open]")`)

	// The schema names the columns that a list has at first.
	c.s.Do(http.MethodPost, "/api/v1/lineitems/strip?context=main", `{"name": "Strip", "order": "order-001"}`, http.StatusCreated)
	c.show("/networks/main/list/lineitems", "main tbody")
	if heads := evaluate[string](t, c.ctx, `[...document.querySelectorAll("main thead th")].map(e => e.innerText.split(" ")[0]).join()`); heads != "Name,Order,Type,User,Start,End,Warnings" {
		t.Errorf("the columns of line items are %s", heads)
	}

	// Pages follow by cursor, and the whole of the list is found by its number.
	c.show("/networks/main/list/orders?orderBy=name&columns=name,createUser,externalReference", "main tbody")
	for range 2 {
		c.to("nav.pages a:last-of-type")
		c.press(kb.Enter)
		c.await(`document.querySelector("main tbody") && !document.querySelector(".busy")`)
	}
	c.await(`document.querySelector(".count")?.innerText.includes("101 to 120 of 120") && document.querySelectorAll("main tbody tr").length === 20`)
	if head := c.text("main thead"); !strings.Contains(head, "Created by") || strings.Contains(head, "Warnings") {
		t.Errorf("the columns of the address are shown as %q", head)
	}
}

// TestConsolePutsBack: a change of the history is put back as a new change, unless somebody has
// changed the object meanwhile.
func TestConsolePutsBack(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	orders(c.s, 1)
	c.s.Do(http.MethodPatch, "/api/v1/orders/order-000?context=main", `{"name": "Mistaken", "externalReference": null}`, http.StatusOK)
	c.show("/networks/main/history?type=orders&id=order-000", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.visible("main .history details button")
	open := func() {
		t.Helper()
		evaluate[string](t, c.ctx, `document.querySelector("main .history details button").click(); ""`)
		c.visible("dialog[open] .primary")
	}
	open()
	if shown := c.text("dialog[open]"); !strings.Contains(shown, "Mistaken") || !strings.Contains(shown, "Order 000") {
		t.Errorf("the dialog shows %s", shown)
	}
	c.s.Do(http.MethodPatch, "/api/v1/orders/order-000?context=main", `{"description": "Meanwhile"}`, http.StatusOK)
	evaluate[string](t, c.ctx, `document.querySelector("dialog[open] .primary").click(); ""`)
	c.visible("dialog[open] [role=alert]")
	c.press(kb.Escape)
	c.await(`!document.querySelector("dialog")`)
	open()
	evaluate[string](t, c.ctx, `document.querySelector("dialog[open] .primary").click(); ""`)
	c.await(`!document.querySelector("dialog[open]") && document.querySelectorAll("main .history > li").length === 4`)
	order := c.s.Do(http.MethodGet, "/api/v1/orders/order-000?context=main", "", http.StatusOK)
	if order["name"] != "Order 000" || order["externalReference"] != "R0" || order["description"] != "Meanwhile" {
		t.Errorf("the order is %v", order)
	}
}

// TestConsoleStale: a list says that objects have changed, and changes when it is asked to.
func TestConsoleStale(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	orders(c.s, 3)
	c.show("/networks/main/list/orders", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.await(`document.querySelectorAll("main tbody tr").length === 3`)
	orders(c.s, 4)
	c.await(`document.querySelector(".count")?.innerText.includes("have changed")`)
	if rows := evaluate[int](t, c.ctx, `document.querySelectorAll("main tbody tr").length`); rows != 3 {
		t.Errorf("the list has changed by itself: %d rows", rows)
	}
	evaluate[string](t, c.ctx, `document.querySelector(".count button").click(); ""`)
	c.await(`document.querySelectorAll("main tbody tr").length === 4 && !document.querySelector(".count").innerText.includes("have changed")`)
}

// TestConsoleShowsWhatTheCallerSees: neither the pages nor the requests of a user who may not read
// a type name it, and a user who may not write is not offered to.
func TestConsoleShowsWhatTheCallerSees(t *testing.T) {
	c := openConsole(t, marquee.Options{Schemas: fstest.MapFS{
		"laws.json":  {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Law", "x-resource": {"path": "laws", "permissions": {"read": "READ_LAWS"}}, "type": "object", "properties": {"name": {"type": "string"}}}`)},
		"stays.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Stay", "x-resource": {"path": "stays"}, "type": "object", "properties": {"name": {"type": "string"}, "rule": {"x-ref": "laws"}}}`)},
	}})
	c.s.Do(http.MethodPost, "/api/v1/laws/l1?context=main", `{"name": "Secluded"}`, http.StatusCreated)
	c.s.Do(http.MethodPost, "/api/v1/stays/s1?context=main", `{"name": "Open"}`, http.StatusCreated)
	c.s.Do(http.MethodPost, "/api/v1/roles/guests?context=main", `{"name": "Guests", "scope": "TEAM", "permissions": []}`, http.StatusCreated)
	c.s.Do(http.MethodPost, "/api/v1/users/guest", `{"username": "guest", "password": "`+marqueetest.Password+` too", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "guests"}]}]}}`, http.StatusCreated)
	c.show("/networks/main", "input[name=username]")
	c.await(`document.activeElement?.matches("input[name=username]")`)
	c.press("guest" + kb.Tab + marqueetest.Password + " too" + kb.Enter)
	c.visible(`nav a[href$="/list/stays"]`)
	for _, path := range []string{"/networks/main", "/networks/main/history", "/networks/main/list/stays", "/networks/main/type/stays", "/networks/main/object/stays/s1"} {
		c.show(path, "main h1")
		c.visible(`nav a[href$="/list/stays"]`)
		c.await(`!document.querySelector(".busy")`)
		if page := evaluate[string](t, c.ctx, "document.documentElement.outerHTML"); strings.Contains(page, "laws") || strings.Contains(page, "Law") || strings.Contains(page, "Secluded") || strings.Contains(page, "data-new") || strings.Contains(page, ">Import<") || strings.Contains(page, `type="checkbox" aria-label`) || strings.Contains(page, ">Save<") || strings.Contains(page, ">New<") {
			t.Errorf("%s shows what the caller does not see: %s", path, page)
		}
	}
	c.show("/networks/main/list/laws", "[role=alert]")
}

// TestConsoleOffline: while the server is out of reach, the page says so and stays, and then goes on.
func TestConsoleOffline(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	orders(c.s, 3)
	c.show("/networks/main/list/orders", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.await(`document.querySelectorAll("main tbody tr").length === 3`)
	x := newScreen(t, c.ctx, c.s)
	x.offline(true)
	orders(c.s, 4)
	evaluate[string](t, c.ctx, `document.querySelector(".count button").click(); ""`)
	c.await(`document.querySelector(".status").innerText.includes("cannot be reached")`)
	if rows := evaluate[int](t, c.ctx, `document.querySelectorAll("main tbody tr").length`); rows != 3 {
		t.Errorf("the page has %d rows", rows)
	}
	x.offline(false)
	c.await(`document.querySelectorAll("main tbody tr").length === 4 && document.querySelector(".status").innerText === ""`)
}

// TestConsoleSession: a session that ends is replaced over the page, which stays as it is; signing
// out ends it on the server.
func TestConsoleSession(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	orders(c.s, 3)
	c.show("/networks/main/list/orders?columns=name,createUser", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.await(`document.querySelectorAll("main tbody tr").length === 3`)
	evaluate[string](t, c.ctx, `document.querySelector("input[type=search]").value = "half a wo"; ""`)
	me := evaluate[string](t, c.ctx, `document.querySelector("main tbody a[href*='object/users']").href.split("/").at(-1)`)
	c.s.Do(http.MethodPost, "/api/v1/users/"+me+"/logout", "", http.StatusNoContent)
	evaluate[string](t, c.ctx, `document.querySelector(".count button").click(); ""`)
	c.visible("dialog[open] input[name=password]:focus")
	if rows := evaluate[int](t, c.ctx, `document.querySelectorAll("#content").length`); rows != 1 {
		t.Error("the page is gone")
	}
	c.press(marqueetest.Password + kb.Enter)
	c.await(`!document.querySelector("dialog[open]") && document.querySelectorAll("main tbody tr").length === 3`)
	if typed := evaluate[string](t, c.ctx, `document.querySelector("input[type=search]").value`); typed != "half a wo" {
		t.Errorf("what was typed is %q now", typed)
	}

	refresh := evaluate[string](t, c.ctx, `sessionStorage.getItem("marquee.refresh")`)
	if kept := evaluate[string](t, c.ctx, `JSON.stringify(localStorage) + document.cookie`); strings.Contains(kept, refresh) || refresh == "" {
		t.Error("the refresh token is kept elsewhere")
	}
	c.run(chromedp.Navigate(c.s.URL + "/console/networks/main")) // a reload keeps the session
	c.visible("main .history")
	refresh = evaluate[string](t, c.ctx, `sessionStorage.getItem("marquee.refresh")`)
	evaluate[string](t, c.ctx, `[...document.querySelectorAll("header button")].at(-1).click(); ""`)
	c.reloaded(`document.querySelector("input[name=username]") && sessionStorage.getItem("marquee.refresh") === null`)
	response, err := http.PostForm(c.s.URL+"/api/authenticate", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("after signing out, the session is refreshed: %d", response.StatusCode)
	}
}

// TestConsoleHostileValues: whatever values, names and descriptions contain, they are text.
func TestConsoleHostileValues(t *testing.T) {
	const html = `<img src=x onerror="window.hit=1"><script>window.hit=1</script>`
	schema, err := json.Marshal(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": html, "description": html,
		"x-resource": map[string]any{"path": "traps", "group": html, "search": []string{"name"}, "sort": []string{"name"}}, "type": "object", "required": []string{"name"},
		"properties": map[string]any{"name": map[string]any{"type": "string", "description": html}, "text": map[string]any{"type": "string"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := openConsole(t, marquee.Options{Schemas: fstest.MapFS{"traps.json": {Data: schema}}})
	values := map[string]string{"html": html, "link": "javascript:window.hit=1", "bidi": "user\u202etxt.exe", "long": strings.Repeat("a(b)", 260_000)}
	for id, value := range values {
		body, err := json.Marshal(map[string]string{"name": value[:min(len(value), 100)], "text": value})
		if err != nil {
			t.Fatal(err)
		}
		c.s.Do(http.MethodPost, "/api/v1/traps/"+id+"?context=main", string(body), http.StatusCreated)
	}
	c.show("/networks/main/list/traps?columns=name,text", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.await(`document.querySelectorAll("main tbody tr").length === 4`)
	list := c.text("main")
	for _, want := range []string{html[:60], "javascript:window.hit=1", "user⟨U+202E⟩txt.exe", "more characters"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list does not show %q: %.2000s", want, list)
		}
	}
	for _, path := range []string{"/networks/main/history?type=traps", "/networks/main/type/traps", "/networks/main/list/traps?where=" + url.QueryEscape(html), "/networks/main/list/traps?q=" + url.QueryEscape(html), "/networks/" + url.PathEscape(html)} {
		c.show(path, "main h1")
		c.await(`!document.querySelector(".busy")`)
		if n := evaluate[int](t, c.ctx, `document.querySelectorAll("#console script, #console img, #console a[href^='javascript' i]").length`); n != 0 {
			t.Errorf("%s has %d elements of values", path, n)
		}
	}
	if evaluate[bool](t, c.ctx, "window.hit === 1") {
		t.Error("a script of a value ran")
	}
	// The policy turns no text into a script, whoever tries.
	c.provoked = "TrustedHTML"
	if evaluate[string](t, c.ctx, `(() => { try { document.createElement("div").innerHTML = "<b>"; return "done" } catch (e) { return e.name } })()`) != "TypeError" {
		t.Error("text can become elements")
	}
}

// TestConsoleAccessibility: axe-core finds no fault in any page, in light and dark, and the pages
// fit on a phone.
func TestConsoleAccessibility(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	script := axe(t)
	orders(c.s, 60)
	c.s.Do(http.MethodPost, "/api/v1/lineitems/strip?context=main", `{"name": "Strip", "order": "order-001"}`, http.StatusCreated)
	check := func(name string) {
		t.Helper()
		for _, of := range []string{"light", "dark"} {
			c.theme(of)
			c.wide(1280, 900)
			accessible(t, c.ctx, script, name+" "+of)
			screenshot(t, c.ctx, "console-"+name+"-"+of+".png")
		}
		c.wide(360, 740)
		if wide := evaluate[int](t, c.ctx, "document.documentElement.scrollWidth"); wide > 360 {
			t.Errorf("%s is %d pixels wide on a screen of 360: %s", name, wide, evaluate[string](t, c.ctx, strings.Replace(tooWide, "390", "360", 1)))
		}
		evaluate[string](t, c.ctx, `document.querySelectorAll("nav details").forEach(d => d.open = false); ""`)
		screenshot(t, c.ctx, "console-"+name+"-360.png")
		c.wide(1280, 900)
	}
	c.show("/networks/main", "input[name=username]")
	check("signin")
	c.signIn(marqueetest.Password)
	c.visible("main .history")
	check("overview")
	for name, path := range map[string]string{"list": "list/orders", "lineitems": "list/lineitems", "history": "history", "type": "type/lineitems"} {
		c.show("/networks/main/"+path, "main table, main .history")
		c.await(`!document.querySelector(".busy")`)
		evaluate[string](t, c.ctx, `document.querySelectorAll("details").forEach(d => d.open = true); document.querySelector(".panel[open] .actions button")?.click(); ""`)
		check(name)
	}
	c.press("?")
	c.visible("dialog[open]")
	check("shortcuts")
}
