package browser

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"marquee/integration/marqueetest"
)

// sight is what a page has shown, and what it has sent and received.
type sight struct {
	path, page string
	exchanges  []exchange
}

// everything is the document with what its fields contain, after all that can be opened was opened.
const everything = `document.querySelectorAll("details").forEach(d => d.open = true);
	document.title + document.documentElement.outerHTML + [...document.querySelectorAll("input, select, textarea")].map(e => e.value + e.checked).join("\n")`

// visit shows a page, and notes what there is after each of the steps.
func (v *visitor) visit(path, shown string, steps ...func()) {
	v.t.Helper()
	evaluate[string](v.t, v.ctx, fmt.Sprintf(`history.pushState(null, "", "/console"+%q); dispatchEvent(new PopStateEvent("popstate")); ""`, path))
	v.settle()
	v.visible(shown)
	page := v.whole()
	for _, step := range steps {
		step()
		v.settle()
		page += "\n\n" + v.whole()
	}
	v.sights = append(v.sights, sight{path, page, v.exchanges()})
}

// whole is what the page shows, without what differs each time.
func (v *visitor) whole() string {
	v.t.Helper()
	return v.comparable(evaluate[string](v.t, v.ctx, everything))
}

// TestConsoleHidden: two worlds that differ only in what a caller of the scope TEAM does not see, such as objects
// of another team, a type, and properties of a type, are the same in the console: each page has the same elements,
// sends the same requests and receives the same answers, byte for byte. For an administrator, they differ.
func TestConsoleHidden(t *testing.T) {
	var worlds [2]*visitor
	for i := range worlds {
		options, now := hiddenOptions(i == 1)
		c := openConsole(t, options)
		worlds[i] = &visitor{console: c, screen: newScreen(t, c.ctx, c.s), second: i == 1, now: now}
		worlds[i].fill()
		worlds[i].walk()
	}
	first, second := worlds[0], worlds[1]
	asked, differs := map[string]bool{}, map[string]bool{}
	for i, of := range first.sights {
		other := second.sights[i]
		if of.path != other.path {
			t.Fatalf("%s is %s in the other world", of.path, other.path)
		}
		if of.page != other.page {
			t.Errorf("%s:\n%s", of.path, firstDifference(of.page, other.page))
		}
		sent, otherSent := first.texts(of), second.texts(other)
		if all, others := strings.Join(sent, "\n"), strings.Join(otherSent, "\n"); all != others {
			t.Errorf("%s: %d and %d requests:\n%s", of.path, len(sent), len(otherSent), firstDifference(all, others))
		}
		for _, e := range of.exchanges {
			if path, _, _ := strings.Cut(e.Path, "&after="); e.Method == http.MethodGet && !asked[path] {
				asked[path] = true
				differs[e.kind()] = differs[e.kind()] || first.administrators(t, path) != second.administrators(t, path)
			}
		}
	}
	for _, kind := range []string{"/api/schemas", "/api/schemas/cases", "/api/schemas/laws", "/api/v1/audit", "/api/v1/cases", "/api/v1/cases/cave-1", "/api/v1/cases/roof", "/api/v1/orders", "/api/v1/laws", "/api/v1/sites"} {
		if !differs[kind] {
			t.Errorf("to an administrator, the answers of %s are the same in both worlds", kind)
		}
	}
	t.Logf("%d pages with %d requests", len(first.sights), len(asked))
}

// texts are the requests of a page with their answers, in an order that does not depend on time: answers that
// come at the same time lead to other requests in either order.
func (v *visitor) texts(of sight) (texts []string) {
	for _, e := range of.exchanges {
		if e.Ended-e.Began > 19_000 && strings.Contains(e.Path, "&wait=20") { // which has ended by itself
			continue
		}
		texts = append(texts, e.text(v.console))
	}
	slices.Sort(texts)
	return texts
}

// administrators is the answer to a request that an administrator gets.
func (v *visitor) administrators(t *testing.T, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := v.s.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(answer.StatusCode, v.comparable(string(body)))
}

// firstDifference shows where two texts differ.
func firstDifference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-300)
	return fmt.Sprintf("first:  …%.600s\nsecond: …%.600s", a[from:], b[from:])
}

// walk shows all that gail can be shown.
func (v *visitor) walk() {
	t := v.t
	v.before()
	v.record()
	v.show("/networks/main", "input[name=username]")
	v.await(`document.activeElement?.matches("input[name=username]")`)
	v.press("gail" + kb.Tab + gailPassword + kb.Enter)
	v.settle()
	v.visible("main .history")
	evaluate[string](t, v.ctx, `window.confirm = () => true; ""`) // forms are left with what was typed
	v.sights = append(v.sights, sight{"/networks/main/signin", v.whole(), v.exchanges()})

	pages := pagesOf(as(t, v.s, "gail"), []string{"cases", "memos", "orders", "lineitems", "sites", "teams", "roles", "users"})
	for _, kind := range slices.Sorted(maps.Keys(pages)) {
		for _, path := range pages[kind] {
			shown := shownBy[kind]
			if kind == "access" || kind == "health" {
				shown = "h1"
			}
			v.visit(path, shown)
		}
	}
	// Addresses of what gail does not see, or of what there is not.
	for _, path := range []string{
		"list/laws", "type/laws", "new/laws", "object/laws/l", "history?type=laws", "history?type=laws&id=l", "list/acts", "list/verdicts", "object/verdicts/verdict-1",
		"object/cases/cave-1", "object/cases/shade", "object/cases/lost", "history?type=cases&id=cave-1", "history?type=cases&id=lost", "object/orders/bread-1", "object/sites/harbour-0",
		"list/cases?q=Roof", "list/cases?q=cave", "list/cases?where=about%3Droof", "list/cases?where=about%3Dcave-0", "list/cases?where=severity%3D3", "list/cases?where=diagnosis%3DFLU", "list/cases?orderBy=severity", "list/cases?columns=name,severity,care",
		"list/cases?onlyMine=true", "list/cases?excludeInvalid=true", "list/cases?includeHidden=true", "list/orders?q=Flour", "list/orders?where=salespersonUser%3Dgail",
	} {
		v.visit("/networks/main/"+path, "main > *")
	}
	v.choices()
	v.references()
	v.together()
	v.live()
	if t.Failed() {
		t.FailNow()
	}
}

// before is what an administrator has done in the same browser: in the second world, a view is kept.
func (v *visitor) before() {
	v.show("/networks/main/list/cases", "input[name=username]")
	v.signIn(marqueetest.Password)
	v.visible("main .count")
	if v.second {
		v.unfold()
		v.screen.write(v.screen.node(0, "Name of this view", "textbox"), "Of the other team")
		v.screen.press(0, "Keep")
		v.screen.node(0, "Of the other team", "link")
	}
	evaluate[string](v.t, v.ctx, `[...document.querySelectorAll("header button")].at(-1).click(); ""`)
	v.reloaded(`document.querySelector("input[name=username]")`)
}

// offered types into a field, and waits for what it offers.
func (v *visitor) offered(selector, text, offer string) {
	v.t.Helper()
	evaluate[string](v.t, v.ctx, fmt.Sprintf(`document.querySelector(%[1]q).focus(); document.querySelector(%[1]q).select(); ""`, selector))
	v.press(text)
	v.await(fmt.Sprintf(`[...document.querySelectorAll("datalist option, [role=listbox]:not([hidden]) [role=option]")].some(e => e.innerText.includes(%q))`, offer))
}

// choices are what pickers of filters and of references offer.
func (v *visitor) choices() {
	condition := func(property, text, offer string) func() {
		return func() {
			v.unfold()
			v.click("Add a condition")
			v.choose(".conditions li:last-child select", property)
			v.visible(".conditions li:last-child .picker input")
			v.offered(".conditions li:last-child .picker input", text, offer)
		}
	}
	v.visit("/networks/main/list/cases", ".count", condition("about", "Roof", "Roof"), condition("team", "", "North"), condition("createUser", "", "gail"))
	v.visit("/networks/main/list/lineitems", ".count", condition("order", "F", "Flour"))
	reference := func(label, text, offer string) func() {
		return func() {
			v.offered(fmt.Sprintf(`[role=combobox][id$="/%s"]`, label), text, offer)
			v.press(kb.Escape)
		}
	}
	v.visit("/networks/main/new/cases", "form", reference("about", "R", "Roof"), reference("team", "n", "North"))
	v.visit("/networks/main/object/cases/roof", "form", reference("about", "w", "Wall"))
	v.visit("/networks/main/object/adunits/bench", "form", reference("site", "p", "Park"))
	v.visit("/networks/main/object/lineitems/sacks", "form", reference("order", "F", "Flour"))
}

// references are what refers to a type, and to an object, which is shown beside a form, and what is put back.
func (v *visitor) references() {
	for _, path := range []string{"type/cases", "type/users", "object/cases/roof", "object/orders/flour", "object/users/gail"} {
		v.visit("/networks/main/"+path, "h1", func() {
			v.click(map[bool]string{true: "Find the types that refer to this one", false: "Find what refers to this object"}[strings.HasPrefix(path, "type/")])
		})
	}
	v.visit("/networks/main/object/cases/path", "form", func() { v.click("Open") })
	v.visit("/networks/main/history?type=cases&id=roof", ".history", func() { v.click("Put back") }, func() { v.press(kb.Escape) })
}

// together are changes of many objects, imports and exports.
func (v *visitor) together() {
	all := func() {
		evaluate[string](v.t, v.ctx, `document.querySelector("main thead input[type=checkbox]").click(); ""`)
		v.click("Change them")
		v.visible("select[name=property]")
	}
	try := func() {
		v.choose("select[name=property]", "ward")
		v.visible(".many form input")
		evaluate[string](v.t, v.ctx, `document.querySelector(".many form input").focus(); ""`)
		v.press("west")
		v.click("Try without writing")
		v.await(`document.querySelector(".many")?.innerText.includes("3 of 3")`)
	}
	v.visit("/networks/main/list/cases?orderBy=name", ".count", all, try, func() { v.click("Close") })
	take := func() {
		v.click("Import")
		v.visible("main input[type=file]")
		v.upload("cases.csv", "id,name,severity,Risk of relapse,diagnosis,size,about,team\nroof,Roof,3,x,FLU,7,cave-1,north\nnew,New,1,,,1,roof,north\npath,Path,,,,8,wall,\n")
		v.await(`document.querySelector(".many")?.innerText.includes("3 rows")`)
	}
	v.visit("/networks/main/list/cases?orderBy=size", ".count", take, func() {
		v.click("Preview the first 3 rows")
		v.await(`document.querySelector(".many")?.innerText.includes("3 of 3")`)
	}, func() { v.click("Close") }, func() {
		v.click("Export")
		v.click("Make the file")
		v.await(`document.querySelector(".many a[download]")`)
	})
}

// live are pages that follow what others change: first what gail does not see, then what she does.
func (v *visitor) live() {
	follows := func() { v.await(`exchanges.some(e => e.path.includes("wait=") && !e.status)`) }
	notice := func() {
		v.write(v.s, "cases", fmt.Sprintf(`{"id": "wall", "size": %d}`, v.now.Load()%1000))
		v.visible("main .notice button")
	}
	v.visit("/networks/main/object/cases/wall", "form", follows, v.unseen, notice, func() { v.click("Show it as it is now") }, follows, v.unseen, func() {
		v.screen.write(v.screen.node(0, "Size", "textbox"), "8")
	}, notice, func() {
		v.click("Save")
		v.screen.node(0, "Theirs: Size", "radio")
	})
	v.visit("/networks/main/list/cases", ".count", follows, v.unseen, func() {
		v.write(v.s, "cases", `{"id": "wall", "size": 6}`)
		v.await(`document.querySelector(".count")?.innerText.includes("have changed")`)
	}, func() { v.click("Reload") })

	// Whether the page is told of its own change before the answer is a matter of time.
	v.visit("/networks/main/object/cases/roof", "form", v.unseen, func() {
		v.screen.write(v.screen.node(0, "Ward", "textbox"), "west")
		v.click("Save")
		v.screen.says("Saved.")
	})
	last := &v.sights[len(v.sights)-1]
	last.exchanges = slices.DeleteFunc(last.exchanges, func(e exchange) bool {
		return strings.Contains(e.Path, "/changes?") || e.Headers["If-None-Match"] != ""
	})
}

// unseen has others change, in the second world alone, what gail does not see, until an administrator has been told of all of it.
func (v *visitor) unseen() {
	if !v.second {
		return
	}
	changes := v.s.Changes()
	v.changed++
	v.more(v.s, "cases", fmt.Sprintf(`{"id": "roof", "severity": %d, "care": {"plan": "tiles", "risk": "R%[1]d"}}, {"id": "cave-7", "name": "Roof %[1]d"}`, 3+v.changed))
	v.more(v.s, "verdicts", fmt.Sprintf(`{"id": "verdict-0", "name": "Roof %d"}`, v.changed))
	changes.Await(func(c marqueetest.Change) bool { return c.Type == "verdicts" })
}
