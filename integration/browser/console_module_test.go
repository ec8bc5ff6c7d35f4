package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/png"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"marquee"
	web "marquee/console"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// hostile is a creative that tries what it must not do, and says what became of it.
const hostile = `<script>
const said = {origin: origin}
const attempt = (name, act) => { try { said[name] = String(act()) } catch (e) { said[name] = "refused" } }
attempt("storage", () => sessionStorage.length)
attempt("cookie", () => document.cookie)
attempt("parent", () => parent.document.title)
attempt("top", () => { top.location = "/docs"; return "navigated" })
attempt("popup", () => window.open("/docs"))
attempt("back", () => { history.back(); return "asked" })
attempt("database", () => indexedDB.open("x"))
new BroadcastChannel("marquee.session").postMessage({ask: true})
const form = document.createElement("form"); form.target = "_top"; form.action = "/docs"; document.documentElement.append(form); form.submit()
fetch("/api/v1/networks").then(a => a.status, () => "refused").then(status => { said.fetch = status; parent.postMessage(said, "*") })
</script>`

// advertise makes a line item with creatives, one of which is hostile and one never ends.
func advertise(s *marqueetest.Server) {
	layout := func(id, html, more string) string {
		text, _ := json.Marshal(html)
		return fmt.Sprintf(`{"type": "layouts", "object": {"id": %q, "name": %q, "html": %s%s}}, {"type": "creatives", "object": {"id": %q, "name": %q, "layout": %q, "lineItem": "l", "width": 300, "height": 250, "verifiedSafe": true}}`,
			id, id, text, more, id, id, id)
	}
	s.Do(http.MethodPost, "/api/v1/batch?context=main", `{"operations": [
		{"type": "sites", "object": {"id": "harbour", "name": "Daily Harbour"}}, {"type": "sites", "object": {"id": "other", "name": "Other <b>news</b>"}},
		{"type": "lineitems", "object": {"id": "l", "name": "Line", "startDate": "2031-03-01T00:00:00Z", "targeting": {
			"siteTarget": {"sites": [{"id": "harbour"}, {"id": "other"}]}, "siteCountryTarget": {"countries": ["NO"], "negated": true},
			"deviceTargets": [{"targetedDeviceTypes": ["MOBILE"], "targetedOSes": ["IOS", "ANDROID"]}],
			"adUnitMatchingLabelTargets": [{"matchingLabels": ["USER"]}], "keywordTargets": [{"keywords": ["boats", "sea"], "notKeywords": ["war"]}],
			"keyValueTargets": [{"entries": {"section": ["sport", "news"]}}],
			"dayPartingTargets": [{"daysOfWeek": ["MONDAY", "TUESDAY", "WEDNESDAY", "SATURDAY"], "hoursOfDay": [8, 9, 10], "timeZoneSetting": "SYSTEM"}]}}},
		`+layout("picture", `<img src="{{image}}" width="300" height="250">`, `, "assetConstraints": [{"tag": "image"}]`)+`,
		`+layout("hostile", hostile, "")+`,
		`+layout("loop", `<p>Loop</p><script>for (;;) {}</script>`, "")+`]}`, http.StatusOK)
}

// open opens a part of the page by its heading.
func (c *console) open(title string) {
	c.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll("details.module")].find(e => e.querySelector("summary").innerText === %q)`, title)
	c.await("!!" + find)
	evaluate[string](c.t, c.ctx, find+`.open = true; ""`)
}

// TestConsoleModule: the application shows targeting as a sentence, uploads files, and previews
// creatives, which reach nothing of the console.
func TestConsoleModule(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application(), Schemas: fstest.MapFS{"parcels.json": {Data: []byte(parcelSchema)}}})
	if _, err := chromedp.Call(c.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"}); err != nil {
		t.Fatal(err)
	}
	advertise(c.s)
	c.show("/networks/main/object/lineitems/l", "input[name=username]")
	c.signIn(marqueetest.Password)

	c.await(`document.querySelector(".sentence")?.innerText.includes("Shown")`)
	want := "Runs from Mar 1, 2031, without an end. Shown on the sites Daily Harbour or Other <b>news</b>; on ad units with the label USER; not on sites of Norway; " +
		"on pages with the keywords boats and sea and on pages without the keyword war; when the request has section sport or news; " +
		"on devices of the type Mobile and with iOS or Android; and on Monday to Wednesday or Saturday and at 08:00 to 11:00 by the clock of the network."
	order := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if got := order(c.text(".sentence")); got != want {
		t.Errorf("the sentence is\n%s\nand not\n%s", got, want)
	}
	if last := evaluate[string](t, c.ctx, `[...document.querySelectorAll("nav section h2")].at(-1).innerText`); last != "Other types" {
		t.Errorf("the last group of types is %s", last)
	}
	script := axe(t)
	c.judge(script, "a line item")

	c.show("/networks/main/object/creatives/picture", "details.module")
	c.open("Files")
	c.await(`document.querySelector("main").innerText.includes("No files yet.")`)
	c.upload("bad.txt", "neither a picture nor a page")
	c.await(`document.querySelector(".files [role=alert]")?.innerText.length > 10`)
	c.upload("green.svg", `<svg xmlns="http://www.w3.org/2000/svg" width="300" height="250"><rect width="300" height="250" fill="#00ff00"/></svg>`)
	c.await(`[...document.querySelectorAll(".files a")].some(e => e.innerText === "green.svg")`)
	c.click("Show") // as drawings can take a browser any time
	c.await(`document.querySelector(".files li:has(a) img")?.naturalWidth > 0`)
	asset := c.s.Do(http.MethodGet, "/api/v1/assets/picture?context=main", "", http.StatusOK)["results"].([]any)[0].(map[string]any)["id"]
	c.judge(script, "files")
	c.s.Do(http.MethodPatch, "/api/v1/creatives/picture?context=main", fmt.Sprintf(`{"layoutParameters": {"image": {"id": %q}}}`, asset), http.StatusOK)

	c.show("/networks/main/object/creatives/picture", "details.module")
	c.open("Preview")
	c.click("Show the preview")
	c.await(`document.querySelector(".module").parentElement.innerText.includes("Shown as it is saved.")`)
	c.judge(script, "a preview")
	screenshot(t, c.ctx, "console-preview.png")
	if size := evaluate[string](t, c.ctx, `{ const f = document.querySelector("iframe"); f.clientWidth + " by " + f.clientHeight }`); size != "300 by 250" {
		t.Errorf("a creative of 300 by 250 has %s", size)
	}
	center := evaluate[[]float64](t, c.ctx, `{ const f = document.querySelector("iframe"); f.scrollIntoView({block: "center"}); const b = f.getBoundingClientRect(); [b.x + b.width / 2, b.y + b.height / 2] }`)
	if r, g, b := c.pixel(int(center[0]), int(center[1])); r > 50 || g < 200 || b > 50 {
		t.Errorf("the middle of the preview has the colour %d %d %d", r, g, b)
	}
	again, err := chromedp.Run(c.ctx, chromedp.Evaluate[int](`fetch(document.querySelector("iframe").src).then(a => a.status)`, chromedp.EvalAwaitPromise))
	if err != nil || again != http.StatusNotFound {
		t.Errorf("the path of the preview is answered again with %d, %v", again, err)
	}

	c.show("/networks/main/object/creatives/hostile", "details.module")
	evaluate[string](t, c.ctx, `window.kept = location.href; addEventListener("message", e => e.data !== "shown" && (window.said = JSON.stringify(e.data))); ""`)
	c.open("Preview")
	c.click("Show the preview")
	c.await("!!window.said")
	said := evaluate[string](t, c.ctx, "window.said")
	if want := `{"origin":"null","storage":"refused","cookie":"refused","parent":"refused","top":"refused","popup":"null","back":"asked","database":"refused","fetch":"refused"}`; said != want {
		t.Errorf("the hostile creative says %s", said)
	}
	c.click("Stop") // and what the creative has asked for has been refused, or has not
	c.click("Show the preview")
	c.await(`document.querySelector("main").innerText.includes("Shown as it is saved.")`)
	if kept := evaluate[bool](t, c.ctx, `window.kept === location.href && !!document.querySelector("iframe")`); !kept {
		t.Errorf("the page has become %s", evaluate[string](t, c.ctx, "location.href"))
	}

	c.show("/networks/main/object/creatives/loop", "details.module")
	c.open("Preview")
	c.click("Show the preview")
	c.await(`!!document.querySelector("iframe")`)
	c.click("Stop")
	c.await(`!document.querySelector("iframe") && document.querySelector("main").innerText.includes("The preview has been stopped.")`)
	c.click("Show the preview")
	c.await(`!!document.querySelector("iframe")`)
	c.show("/networks/main/list/creatives", "main tbody")
}

// TestConsoleFaultyModule: whatever the module of an application does, the page of an object is shown
// and left.
func TestConsoleFaultyModule(t *testing.T) {
	for code, fault := range map[string]string{
		`export const nothing = 1`:                    "TypeError",
		`throw new Error("not today")`:                "not today",
		`export const panels = [{title: "No types"}]`: "TypeError",
		`await new Promise(() => {})`:                 "",
		`export const texts = {A: 1, B: {}}; export const panels = [{types: ["sites"]}, {title: "A", types: ["sites"]}, ` +
			`{title: "B", types: ["sites"], open: true, show() { throw new Error("not said") }}]`: "not said",
		`export const panels = [{title: "A", types: ["sites"], open: true, show() { throw new Error("not shown") }}, ` +
			`{title: "B", types: ["sites"], open: true, show: () => () => { throw new Error("not ended") }}]`: "not shown",
	} {
		application := resources.New().Application()
		application.Console = web.Module{Files: fstest.MapFS{"module.js": {Data: []byte(code)}}}
		c := openConsole(t, marquee.Options{Application: application})
		c.provoked = "not ended" // which the browser reports to the author
		c.s.Do(http.MethodPost, "/api/v1/sites?context=main", `{"id": "harbour", "name": "Harbour"}`, http.StatusOK)
		c.show("/networks/main/object/sites/harbour", "input[name=username]")
		c.signIn(marqueetest.Password)
		c.await(`!!document.querySelector("main form")`)
		if fault != "" {
			c.await(fmt.Sprintf(`document.querySelector("main [role=alert]")?.innerText.includes(%q)`, fault))
		}
		c.await(`!!document.querySelector("nav a[href$='/list/sites']")`)
		evaluate[string](t, c.ctx, `document.querySelector("nav a[href$='/list/sites']").click(); ""`)
		c.await(`document.querySelector("main tbody")?.innerText.includes("Harbour") && location.pathname.endsWith("/list/sites")`)
	}
}

// pixel returns the colour of a place of the screen.
func (c *console) pixel(x, y int) (r, g, b uint32) {
	c.t.Helper()
	picture, err := chromedp.Run(c.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		c.t.Fatal(err)
	}
	decoded, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		c.t.Fatal(err)
	}
	r, g, b, _ = decoded.At(x, y).RGBA()
	return r >> 8, g >> 8, b >> 8
}
