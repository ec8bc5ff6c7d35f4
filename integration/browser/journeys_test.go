package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/client"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// The journeys begin at the first page, and take the keyboard alone. TestConsoleGivesRole is one, too.

// begin signs in on the first page.
func (c *console) begin() {
	c.t.Helper()
	if _, err := chromedp.Call(c.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"}); err != nil {
		c.t.Fatal(err)
	}
	c.run(chromedp.Navigate(c.s.URL + "/"))
	c.signIn(marqueetest.Password)
	c.await(`location.pathname.endsWith("/networks/main") && document.activeElement.matches("h1") && document.querySelector("main h2")`)
}

// names are those of the element that has the focus, as a screen reader finds them.
const names = `[document.activeElement.getAttribute("aria-label"), ...[...(document.activeElement.labels ?? [])].map(l => l.innerText), document.activeElement.innerText]`

// seek moves the focus with Tab to the first element with a name, through elements that show that they have it.
func (c *console) seek(name string) {
	c.t.Helper()
	for range maxTabs {
		c.press(kb.Tab)
		switch evaluate[string](c.t, c.ctx, fmt.Sprintf(`!(%s) ? "unseen" : %s.some(n => n?.trim().split("\n")[0] === %q) ? "found" : ""`, outlined, names, name)) {
		case "found":
			return
		case "unseen":
			c.t.Fatalf("the focus cannot be seen on %s", evaluate[string](c.t, c.ctx, "document.activeElement.outerHTML.slice(0, 200)"))
		}
	}
	screenshot(c.t, c.ctx, "console-failed.png")
	c.t.Fatalf("Tab does not lead to %q: %.2000s", name, c.text("main"))
}

// push presses what has a name.
func (c *console) push(name string) {
	c.t.Helper()
	c.seek(name)
	c.press(kb.Enter)
}

// list goes to the list of a type by the menu.
func (c *console) list(path string) {
	c.t.Helper()
	c.to(fmt.Sprintf(`nav a[href$="/list/%s"]`, path))
	c.press(kb.Enter)
	c.await(fmt.Sprintf(`location.pathname.endsWith("/list/%s") && document.activeElement.matches("h1") && document.querySelector("main .count")`, path))
}

// refer chooses an object by its name.
func (c *console) refer(label, name string) {
	c.t.Helper()
	c.seek(label)
	c.press(name)
	c.await(fmt.Sprintf(`[...document.querySelectorAll("[role=listbox]:not([hidden]) [role=option][aria-selected=true]")].some(o => o.innerText.startsWith(%q))`, name))
	c.press(kb.Enter)
}

// create opens the form for a new object of a type from its list, fills it in, and returns the id.
func (c *console) create(path string, fill func()) string {
	c.t.Helper()
	c.list(path)
	c.push("New")
	c.await(`document.activeElement.matches("h1") && document.querySelector("main form")`)
	fill()
	c.push("Create")
	c.await(fmt.Sprintf(`location.pathname.includes("/object/%s/") && document.activeElement.matches("h1") && document.querySelector("main form")`, path))
	at := evaluate[string](c.t, c.ctx, "location.pathname")
	return at[strings.LastIndexByte(at, '/')+1:]
}

// TestJourneyCampaign: a campaign is planned, from the advertiser to the creative with its picture.
func TestJourneyCampaign(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	c.s.Do(http.MethodPost, "/api/v1/layouts/banner?context=main", `{"name": "Banner", "html": "<img src=\"{{image}}\">", "assetConstraints": [{"tag": "image"}]}`, http.StatusCreated)
	c.begin()
	name := func(text string) {
		c.seek("Name")
		c.press(text)
	}
	c.create("advertisers", func() { name("Ferries") })
	c.create("orders", func() { name("Summer"); c.refer("Advertiser", "Ferries") })
	item := c.create("lineitems", func() {
		name("Front page")
		c.refer("Order", "Summer")
		c.seek("Start date")
		c.press("030120311200PM")
		c.push("Add Bid specification")
		c.push("Add Cpm")
		c.seek("Currency")
		c.press("EUR")
		c.seek("Amount")
		c.press("4.5")
	})
	if got := c.s.Do(http.MethodGet, "/api/v1/lineitems/"+item+"?context=main", "", http.StatusOK); got["startDate"] != "2031-03-01T12:00:00.000Z" || jsonText(got["bidSpecification"]) != `{"cpm":{"amount":4.5,"currency":"EUR"}}` || !strings.Contains(jsonText(got["order"]), "Summer") {
		t.Errorf("the line item is %s", jsonText(got))
	}
	creative := c.create("creatives", func() {
		c.seek("id")
		c.press("ferries")
		name("Ferries 300x250")
		c.refer("Layout", "Banner")
		c.seek("Verified safe")
		c.press(kb.ArrowDown)
		c.refer("Line item", "Front page")
		c.seek("Width")
		c.press("300")
		c.seek("Height")
		c.press("250")
	})
	c.push("Files")
	c.await(`document.querySelector("main").innerText.includes("No files yet.")`)
	c.to("main input[type=file]")
	c.upload("ferry.png", picture(t, 300, 250)) // as a browser without a screen shows no dialog for it
	c.await(`[...document.querySelectorAll(".files a")].some(e => e.innerText === "ferry.png")`)
	got := c.s.Do(http.MethodGet, "/api/v1/creatives/"+creative+"?context=main", "", http.StatusOK)
	if files := c.s.Do(http.MethodGet, "/api/v1/assets/"+creative+"?context=main", "", http.StatusOK); !strings.Contains(jsonText(got["lineItem"]), item) || fmt.Sprint(files["totalCount"]) != "1" {
		t.Errorf("the creative is %s, and has %v files", jsonText(got), files["totalCount"])
	}
}

// TestJourneyConflict: two people change an order, and the second one decides what remains.
func TestJourneyConflict(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	const path = "/api/v1/orders/spring?context=main"
	c.s.Do(http.MethodPut, path, `{"name": "Spring", "externalReference": "A"}`, http.StatusCreated)
	c.begin()
	c.list("orders")
	c.push("Spring")
	c.await(`document.activeElement.matches("h1") && document.querySelector("main form")`)
	c.seek("Description")
	c.press("Mine")
	c.seek("External reference")
	c.press(kb.End + kb.Backspace + "B")
	c.s.Do(http.MethodPatch, path, `{"name": "Spring tide", "externalReference": "C"}`, http.StatusOK)
	c.push("Save")
	c.await(`document.activeElement.id === "conflict-heading"`)
	c.seek("Yours: External reference")
	c.press(kb.ArrowRight)
	c.push("Save the result")
	c.await(`[...document.querySelectorAll("main form [role=status]")].some(e => e.innerText === "Saved.")`)
	if got := c.s.Do(http.MethodGet, path, "", http.StatusOK); got["name"] != "Spring tide" || got["description"] != "Mine" || got["externalReference"] != "C" {
		t.Errorf("the order is %s", jsonText(got))
	}
	c.await(`document.activeElement.matches("h1")`)
}

// TestJourneyImport: of 5,000 rows, 40 have faults; they are saved with the reasons, corrected, and imported with the
// properties that were chosen for the columns.
func TestJourneyImport(t *testing.T) {
	const rows, faulty = 5000, 40
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	c.begin()
	c.keepFiles()
	c.list("orders")
	c.push("Import")
	c.await(`document.activeElement.id === "import"`)
	c.to("main input[type=file]")
	var file strings.Builder
	file.WriteString("id,Name,Remark\r\n")
	for i := range rows {
		name := fmt.Sprint("Row ", i)
		if i%(rows/faulty) == 7 {
			name = ""
		}
		fmt.Fprintf(&file, "row-%d,%s,of the file\r\n", i, name)
	}
	c.upload("orders.csv", file.String())
	c.await(`document.querySelectorAll(".many tbody tr").length === 3`)
	c.seek("Property of the column Remark")
	c.press("Description")
	c.push("Preview the first 100 rows")
	c.await(`document.querySelector(".many").innerText.includes("100 of 100: 99 accepted, 1 refused")`)
	c.push("Import 5,000 rows")
	c.await(`document.querySelector(".many").innerText.includes("5,000 of 5,000: 4,960 written, 40 refused")`)
	c.seek("Save orders-rejected.csv")
	lines := strings.Split(strings.TrimSpace(c.made()), "\r\n")
	if len(lines) != 1+faulty || lines[0] != "id,Name,Remark,rejected because" {
		t.Fatalf("there are %d rejected rows: %.500s", len(lines)-1, strings.Join(lines, "\n"))
	}
	for _, line := range lines[1:] {
		if !strings.Contains(line, "of the file,") || strings.HasSuffix(line, ",") {
			t.Errorf("a row is rejected without a reason: %s", line)
		}
	}
	c.to("main input[type=file]")
	c.upload("orders-rejected.csv", strings.ReplaceAll(strings.Join(lines, "\r\n"), ",,", ",Corrected,"))
	c.push("Preview the first 40 rows")
	c.await(`document.querySelector(".many").innerText.includes("40 of 40: 40 accepted")`)
	c.push("Import 40 rows")
	c.await(`document.querySelector(".many").innerText.includes("40 of 40: 40 written")`)
	c.push("Close")
	c.await(`document.activeElement.innerText === "Import"`)
	if list := c.s.Do(http.MethodGet, "/api/v1/orders?context=main&pageSize=1&where=description%3Dof%20the%20file", "", http.StatusOK); fmt.Sprint(list["totalCount"]) != "5000" {
		t.Errorf("there are %v orders", list["totalCount"])
	}
}

// TestJourneyPrice: somebody finds out who changed the price of a line item.
func TestJourneyPrice(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	const path = "/api/v1/lineitems/front?context=main"
	c.s.Do(http.MethodPut, path, `{"name": "Front page", "bidSpecification": {"cpm": {"amount": 4.5, "currency": "EUR"}}}`, http.StatusCreated)
	anotherUser(c.s)
	api, err := client.New(c.s.URL, client.Options{})
	if err == nil {
		err = api.SignIn(t.Context(), "ida", marqueetest.Password+" too")
	}
	if err != nil {
		t.Fatal(err)
	}
	ida := *c.s
	ida.Client = &http.Client{Transport: api.Transport()}
	ida.Do(http.MethodPatch, path, `{"bidSpecification": {"cpm": {"amount": 2}}}`, http.StatusOK)
	c.s.Do(http.MethodPatch, path, `{"labels": ["summer"]}`, http.StatusOK)
	c.begin()
	c.list("lineitems")
	c.push("Front page")
	c.await(`document.activeElement.matches("h1") && document.querySelector("main form")`)
	c.push("History")
	c.await(`location.search === "?type=lineitems&id=front" && document.querySelectorAll("main .history > li").length === 3`)
	change := evaluate[string](t, c.ctx, `[...document.querySelectorAll("main .history > li")].find(e => e.querySelector("table")?.innerText.includes("Cpm")).innerText`)
	for _, want := range []string{"ida", "Bid specification › Cpm › Amount\t4.5\t2"} {
		if !strings.Contains(change, want) {
			t.Errorf("the change does not show %s: %s", want, change)
		}
	}
	c.seek("ida")
	c.press(kb.Enter)
	c.await(`location.pathname.endsWith("/object/users/ida") && document.querySelector("main h1").innerText === "ida"`)
}
