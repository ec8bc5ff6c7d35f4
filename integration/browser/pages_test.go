package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"marquee"
	"marquee/auth/seal"
	"marquee/engine"
	"marquee/integration/marqueetest"
	"marquee/integration/service"
	"marquee/resources"
)

// shownBy is what a page of each kind has when it is shown.
var shownBy = map[string]string{
	"home": ".history", "overview": ".history", "history": ".history", "access": "#users table", "notifications": ".count", "health": "dl", "account": "form",
	"list": ".count, .parent", "new": "form", "type": "table", "object": "form", "unknown": "h1",
}

// kinds are those of the pages of the console, as its router names them.
func kinds(t *testing.T) []string {
	t.Helper()
	router, err := os.ReadFile(filepath.Join("..", "..", "console", "web", "src", "router.ts"))
	if err != nil {
		t.Fatal(err)
	}
	_, pages, _ := strings.Cut(string(router), "export type Page =")
	pages, _, _ = strings.Cut(pages, "/**")
	var found []string
	for _, match := range regexp.MustCompile(`"([a-z]+)"`).FindAllStringSubmatch(pages, -1) {
		found = append(found, match[1])
	}
	return found
}

// domain is an application with objects.
type domain struct {
	options marquee.Options
	fill    func(*testing.T, *marqueetest.Server)
	// types are those whose pages are shown unless MARQUEE_PAGES is set, which shows those of all types.
	types []string
}

var domains = map[string]domain{
	"demonstration": {marquee.Options{Application: resources.New().Application()}, demonstrate, []string{"assets", "lineitems"}},
	"clinic":        {marquee.Options{Schemas: os.DirFS("../testdata/clinic/schemas")}, admit, []string{"admissions"}},
}

// demonstrate writes the demonstration data.
func demonstrate(t *testing.T, s *marqueetest.Server) {
	t.Helper()
	me, role := firstOf(s, "users"), firstOf(s, "roles")
	e := s.Marquee.Engine()
	steps, err := resources.Demo(marquee.DemoOptions{Types: e.Registry(), Password: marqueetest.Password, Now: time.Now(), First: marquee.First{Network: marqueetest.Network, UserID: me, RoleID: role}})
	for _, step := range steps {
		if err == nil {
			_, err = e.Write(context.Background(), &engine.Caller{System: true, User: cmp.Or(step.User, me)},
				engine.Batch{Network: cmp.Or(step.Network, marqueetest.Network), FieldValidation: engine.Strict, Time: step.Time, Operations: step.Operations})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// firstOf returns the id of the first object of a list, "" if there is none.
func firstOf(s *marqueetest.Server, path string) string {
	results := s.Do(http.MethodGet, "/api/v1/"+path+"?context=main&pageSize=1&fields=id", "", http.StatusOK)["results"].([]any)
	if len(results) == 0 {
		return ""
	}
	return results[0].(map[string]any)["id"].(string)
}

// admit fills the clinic: a patient who has left and paid, and one who is expected.
func admit(t *testing.T, s *marqueetest.Server) {
	t.Helper()
	for _, objects := range []string{
		`wards: [{"id": "east", "name": "East"}, {"id": "west", "name": "West"}]`,
		`beds: [{"id": "e1", "ward": "east", "number": 1}, {"id": "w1", "ward": "west", "number": 1}]`,
		`patients: [{"id": "ida", "name": "Ida", "born": "1990-04-12", "insurance": "A123456789", "allergies": ["nuts"], "contact": {"phone": "1"}}, {"id": "max", "name": "Max", "born": "1985-01-30"}]`,
		`admissions: [{"id": "a", "patient": "ida", "bed": "e1", "begin": "2026-05-01T08:00:00Z", "end": "2026-05-04T08:00:00Z", "state": "ADMITTED", "diagnosis": "A broken arm"}, {"id": "b", "patient": "max", "bed": "e1", "begin": "2026-05-04T08:00:00Z"}]`,
		`prescriptions: [{"id": "p", "admission": "a", "drug": "Ibuprofen", "dose": 400, "times": [8, 14, 20]}]`,
		`bills: [{"id": "bill", "admission": "a", "items": [{"text": "Night", "cents": 20000}, {"text": "Cast", "cents": 5000}], "totalCents": 25000, "paid": true}]`,
		`admissions: [{"id": "a", "state": "DISCHARGED"}]`,
	} {
		path, body, _ := strings.Cut(objects, ": ")
		s.Do(http.MethodPost, "/api/v1/"+path+"?context=main", body, http.StatusOK)
	}
}

// pagesOf returns the addresses of pages by their kinds.
func pagesOf(s *marqueetest.Server, only []string) map[string][]string {
	found := map[string][]string{"home": {"/"}, "overview": {"/networks/main"}, "unknown": {"/networks/main/nowhere"}, "history": {"/networks/main/history"}, "account": {"/account"}}
	for _, kind := range []string{"access", "notifications", "health", "account"} {
		found[kind] = append(found[kind], "/networks/main/"+kind)
	}
	for _, one := range s.Do(http.MethodGet, "/api/schemas?mine=true&context=main", "", http.StatusOK)["types"].([]any) {
		info := one.(map[string]any)
		path := info["type"].(string)
		if only != nil && !slices.Contains(only, path) {
			continue
		}
		list, id := path, ""
		if info["parent"] == nil {
			id = firstOf(s, path)
		} else { // that of the files of a creative, the only one of both domains
			list += "?parent=crossings-300x250"
			id = "crossings-300x250/" + firstOf(s, path+"/crossings-300x250")
		}
		found["list"] = append(found["list"], "/networks/main/list/"+list)
		found["type"] = append(found["type"], "/networks/main/type/"+path)
		if info["scope"] != "global" {
			found["history"] = append(found["history"], "/networks/main/history?type="+path)
		}
		if info["writable"] == true && info["parent"] == nil {
			found["new"] = append(found["new"], "/networks/main/new/"+path)
		}
		if id != "" {
			found["object"] = append(found["object"], "/networks/main/object/"+path+"/"+id)
		}
	}
	return found
}

// onMongoDB adds a store in a database to options.
func onMongoDB(t *testing.T, options marquee.Options, fresh service.NewStore) marquee.Options {
	t.Helper()
	store, err := service.OpenStore(t, fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	key := filepath.Join(t.TempDir(), "key")
	err = seal.CreateKeyFile(key)
	keys, reading := seal.ReadKeyFiles(key)
	sealer, making := seal.New(keys...)
	if err := cmp.Or(err, reading, making); err != nil {
		t.Fatal(err)
	}
	options.Store, options.Sealer = store, sealer
	return options
}

// TestConsoleEveryPage shows the pages of every kind that the router knows, for the advertising service
// with its demonstration data, and for a hospital without code: the browser reports no error and
// no request that failed. On SQLite, axe-core finds no fault in light, in dark and on a phone, nothing moves
// if the user wants that, the page fits on a phone and is as usable at twice the size, and pictures are kept.
func TestConsoleEveryPage(t *testing.T) {
	find(t)
	for name, of := range domains {
		t.Run(name, func(t *testing.T) {
			service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
				options, pictures := of.options, true
				if strings.HasSuffix(t.Name(), "/mongodb") {
					options, pictures = onMongoDB(t, options, fresh), false
				}
				types := of.types
				if os.Getenv("MARQUEE_PAGES") != "" {
					types = nil
				}
				c := openConsole(t, options)
				of.fill(t, c.s)
				c.everyPage(name, pagesOf(c.s, types), pictures)
			})
		})
	}
}

func (c *console) everyPage(domain string, pages map[string][]string, pictures bool) {
	t := c.t
	script := ""
	if pictures {
		script = axe(t)
	}
	c.show("/", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.visible("main .history")
	for _, kind := range kinds(t) {
		if len(pages[kind]) == 0 || shownBy[kind] == "" {
			t.Errorf("no page of the kind %s is shown", kind)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(pages)) {
		for _, path := range pages[kind] {
			c.mu.Lock()
			c.failed = nil
			c.mu.Unlock()
			evaluate[string](t, c.ctx, fmt.Sprintf(`history.pushState(null, "", "/console%s"); dispatchEvent(new PopStateEvent("popstate")); ""`, path))
			c.await(fmt.Sprintf(`[...document.querySelectorAll("main")].some(m => m.querySelector(%q) && !m.querySelector(".busy") && !m.innerText.includes("Loading…"))`, shownBy[kind]))
			if pictures {
				c.everyWay(script, strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(domain+"-"+kind+"-"+strings.TrimPrefix(path, "/networks/main/"+kind), "-"), "-"))
			}
			c.mu.Lock()
			if len(c.failed) > 0 {
				t.Errorf("%s: %s", path, c.failed)
			}
			c.mu.Unlock()
		}
	}
}

// moving are the elements that move, or would.
const moving = `[...document.querySelectorAll("*")].filter(e => { const s = getComputedStyle(e); return s.animationName !== "none" || !/^(0s, )*0s$/.test(s.transitionDuration) || s.scrollBehavior !== "auto" }).map(e => e.outerHTML.slice(0, 100)).join("\n")`

// everyWay judges a page in light, dark, at twice the size and on a phone, and keeps pictures of it.
func (c *console) everyWay(script, name string) {
	t := c.t
	for _, theme := range []string{"light", "dark"} {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}
		if theme == "dark" {
			features = append(features, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
		}
		c.media(features...)
		accessible(t, c.ctx, script, name+" "+theme)
		screenshot(t, c.ctx, "page-"+name+"-"+theme+".png")
	}
	if found := evaluate[string](t, c.ctx, moving); found != "" {
		t.Errorf("%s: these move, though the user does not want that: %s", name, found)
	}
	c.theme("light")
	c.wide(640, 450)
	c.within(640, name)
	c.wide(360, 740)
	evaluate[string](t, c.ctx, `document.querySelectorAll("nav details").forEach(d => d.open = false); scrollTo(0, 0); ""`)
	c.within(360, name)
	accessible(t, c.ctx, script, name+" 360")
	screenshot(t, c.ctx, "page-"+name+"-360.png")
	evaluate[string](t, c.ctx, `document.querySelectorAll("nav details").forEach(d => d.open = true); ""`)
	c.wide(1280, 900)
}

// within fails if the page is wider than the screen.
func (c *console) within(width int, name string) {
	c.t.Helper()
	if wide := evaluate[int](c.t, c.ctx, "document.documentElement.scrollWidth"); wide > width {
		c.t.Errorf("%s is %d pixels wide on a screen of %d: %s", name, wide, width, evaluate[string](c.t, c.ctx, strings.Replace(tooWide, "390", fmt.Sprint(width), 1)))
	}
}

// TestConsoleLargeValues: a list of 10,000 items and a value of 60 levels are shown in part, and can be seen whole.
func TestConsoleLargeValues(t *testing.T) {
	const schema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Heap", "x-resource": {"path": "heaps"}, "required": ["name"],
		"properties": {"name": {"type": "string"}, "items": {"type": "array", "items": {"type": "integer"}}, "deep": {"type": "object", "additionalProperties": true}}}`
	const levels, items = 60, 10_000
	x := onConsole(t, marquee.Options{Schemas: fstest.MapFS{"heaps.json": {Data: []byte(schema)}}})
	numbers := make([]int, items)
	for i := range numbers {
		numbers[i] = 100_000 + i
	}
	list, _ := json.Marshal(numbers)
	x.s.Do(http.MethodPut, "/api/v1/heaps/a?context=main", fmt.Sprintf(`{"name": "Heap", "items": %s, "deep": %s1%s}`, list, strings.Repeat(`{"a":`, levels), strings.Repeat("}", levels)), http.StatusCreated)
	few := func(path, shown string) {
		t.Helper()
		x.show(path)
		x.await(fmt.Sprintf("document.querySelector(%q)", shown))
		if n := evaluate[int](t, x.ctx, `document.querySelectorAll("main *").length`); n > 1500 {
			t.Errorf("%s has %d elements", path, n)
		}
		if n := evaluate[int](t, x.ctx, `document.querySelector("main").innerText.length`); n > 10_000 {
			t.Errorf("%s shows %d characters", path, n)
		}
	}
	few("/list/heaps?columns=name,items,deep", "main tbody tr")
	few("/history?type=heaps", "main .history li")
	few("/object/heaps/a", "main form")
	x.await(`document.querySelector("main form").innerText.includes("10000") || document.querySelector("main form").innerText.includes("10,000")`)
	evaluate[string](t, x.ctx, `{ const go = document.querySelector("main nav input[type=number]"); go.value = "9999"; go.dispatchEvent(new Event("change", {bubbles: true})) } ""`)
	x.await(`[...document.querySelectorAll("main form input")].some(e => e.value === "109999")`)
}
