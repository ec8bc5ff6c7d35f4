package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"marquee"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// click clicks the button, or the link, with a text.
func (c *console) click(text string) {
	c.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll("main button, main a")].find(e => e.innerText.trim() === %q)`, text)
	c.await("!!" + find)
	evaluate[string](c.t, c.ctx, find+`.click(); ""`)
}

// choose chooses an option of a select, by its value.
func (c *console) choose(selector, value string) {
	c.t.Helper()
	evaluate[string](c.t, c.ctx, fmt.Sprintf(`{ const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event("change", { bubbles: true })) } ""`, selector, value))
}

// keepFiles keeps the text of the file that the page has made last in window.made.
func (c *console) keepFiles() {
	c.t.Helper()
	evaluate[string](c.t, c.ctx, `{ const make = URL.createObjectURL; URL.createObjectURL = blob => { window.made = undefined; blob.text().then(text => window.made = text); return make.call(URL, blob) } } ""`)
}

func (c *console) made() string {
	c.t.Helper()
	c.await("window.made !== undefined")
	return evaluate[string](c.t, c.ctx, "window.made")
}

// upload puts a file into the field for it.
func (c *console) upload(name, content string) {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	found, err := chromedp.Call(c.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: `document.querySelector("main input[type=file]")`})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := chromedp.Call(c.ctx, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, ObjectID: found.Result.ObjectID}); err != nil {
		c.t.Fatal(err)
	}
}

// several is a console with the list of orders.
func several(t *testing.T) *console {
	t.Helper()
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	c.show("/networks/main/list/orders", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.await(`!!document.querySelector(".count")`)
	return c
}

// judge fails if axe-core finds a fault, or if the page does not fit on a phone.
func (c *console) judge(script, name string) {
	c.t.Helper()
	for _, of := range []string{"light", "dark"} {
		c.theme(of)
		accessible(c.t, c.ctx, script, name+" "+of)
	}
	c.wide(360, 740)
	if wide := evaluate[int](c.t, c.ctx, "document.documentElement.scrollWidth"); wide > 360 {
		c.t.Errorf("%s is %d pixels wide on a screen of 360: %s", name, wide, evaluate[string](c.t, c.ctx, strings.Replace(tooWide, "390", "360", 1)))
	}
	evaluate[string](c.t, c.ctx, `document.querySelector("main").scrollIntoView(); ""`)
	screenshot(c.t, c.ctx, "console-"+strings.ReplaceAll(name, " ", "-")+"-360.png")
	c.wide(1280, 900)
	c.theme("light")
}

// TestConsoleChangesMany: what matches is changed as in the trial. An object that somebody has changed
// since the trial is not written, and stays selected with the reason.
func TestConsoleChangesMany(t *testing.T) {
	c := several(t)
	script := axe(t)
	orders(c.s, 60)
	c.show("/networks/main/list/orders?orderBy=name", "main table:has(tbody tr) thead input[type=checkbox]")
	evaluate[string](t, c.ctx, `document.querySelector("main thead input[type=checkbox]").click(); ""`)
	c.await(`document.querySelector(".selection").innerText.includes("50 objects are selected")`)
	c.judge(script, "a selection")
	c.click("Select all 60 that match")
	c.await(`document.querySelector(".selection").innerText.includes("All 60")`)
	c.click("Change them")
	c.visible("select[name=property]")
	c.choose("select[name=property]", "description")
	c.visible(".many textarea")
	evaluate[string](t, c.ctx, `document.querySelector(".many textarea").focus(); ""`)
	c.press("Changed together")
	c.judge(script, "values for many")
	c.click("Try without writing")
	c.await(`document.querySelector(".many")?.innerText.includes("60 of 60: 60 accepted, 0 refused")`)
	if order := c.s.Do(http.MethodGet, "/api/v1/orders/order-000?context=main", "", http.StatusOK); order["description"] != nil {
		t.Errorf("the trial has written %v", order)
	}
	c.s.Do(http.MethodPatch, "/api/v1/orders/order-007?context=main", `{"name": "Order 007, meanwhile"}`, http.StatusOK)
	before := len(c.seen.foreign("http://nobody.example"))
	c.click("Change 60 objects")
	c.await(`document.querySelector(".many")?.innerText.includes("60 of 60: 59 written, 1 refused")`)
	sent := 0
	for _, url := range c.seen.foreign("http://nobody.example")[before:] {
		if strings.Contains(url, "/api/v1/batch") {
			sent++
		}
	}
	if sent != 2 { // the second without the object that was refused
		t.Errorf("%d transactions were sent", sent)
	}
	c.await(`document.querySelectorAll("main tbody input:checked").length === 1 && document.querySelector("main tbody tr:has(input:checked)").innerText.includes("Order 007, meanwhile")`)
	for _, selector := range []string{"main tbody .fault", ".many .notes li"} {
		if reason := c.text(selector); !strings.Contains(reason, "the object order-007 has another version") {
			t.Errorf("%s says %q", selector, reason)
		}
	}
	c.judge(script, "the result of a change")
	screenshot(t, c.ctx, "console-many.png")
	for id, want := range map[string]any{"order-007": nil, "order-006": "Changed together", "order-059": "Changed together"} {
		if order := c.s.Do(http.MethodGet, "/api/v1/orders/"+id+"?context=main", "", http.StatusOK); order["description"] != want {
			t.Errorf("the order %s is %v", id, order)
		}
	}

	// A value that the objects cannot have is refused in the trial, for each of them.
	c.click("Back to the values")
	c.visible(".many textarea")
	c.choose("select[name=property]", "name")
	c.await(`document.querySelector(".many").innerText.includes("Without a value, ")`)
	c.click("Try without writing")
	c.await(`document.querySelector(".many")?.innerText.includes("1 of 1: 0 accepted, 1 refused")`)
}

// TestConsoleImports: the columns of a file are matched and corrected, and rejected rows come back in a
// file with their reasons, which can be imported again.
func TestConsoleImports(t *testing.T) {
	c := several(t)
	script := axe(t)
	c.keepFiles()
	c.click("Import")
	c.visible("main input[type=file]")
	var file strings.Builder
	file.WriteString("id,Name,Remark\r\n")
	for i := range 1200 {
		switch {
		case i == 3:
			file.WriteString("row-3,,\r\n") // without a name
		case i == 1100:
			file.WriteString("row-1100,Too,many,values\r\n")
		default:
			fmt.Fprintf(&file, "row-%d,\"Row %d, \"\"quoted\"\"\",'=SUM(1)\r\n", i, i)
		}
	}
	c.upload("orders.csv", file.String())
	c.await(`document.querySelectorAll(".many tbody tr").length === 3`)
	if matched := evaluate[string](t, c.ctx, `[...document.querySelectorAll(".many tbody select")].map(e => e.value).join()`); matched != "id,name," {
		t.Errorf("the columns are matched to %s", matched)
	}
	c.choose(".many tbody tr:nth-child(3) select", "description")
	c.judge(script, "columns of a file")
	c.click("Preview the first 100 rows")
	c.await(`document.querySelector(".many").innerText.includes("100 of 100: 99 accepted, 1 refused")`)
	c.judge(script, "a preview")
	if list := c.s.Do(http.MethodGet, "/api/v1/orders?context=main&pageSize=1", "", http.StatusOK); fmt.Sprint(list["totalCount"]) != "0" {
		t.Errorf("the preview has written %v objects", list["totalCount"])
	}
	c.click("Import 1,200 rows")
	c.await(`document.querySelector(".many").innerText.includes("1,200 of 1,200: 1,198 written, 2 refused") && document.querySelector(".count").innerText.includes("of 1,198")`)
	if order := c.s.Do(http.MethodGet, "/api/v1/orders/row-1199?context=main", "", http.StatusOK); order["name"] != `Row 1199, "quoted"` || order["description"] != "=SUM(1)" {
		t.Errorf("the order is %v", order)
	}
	c.visible(`.many a[download="orders-rejected.csv"]`)
	rejected := c.made()
	lines := strings.Split(strings.TrimSpace(rejected), "\r\n")
	if len(lines) != 3 || lines[0] != "id,Name,Remark,rejected because" || !strings.HasPrefix(lines[1], "row-3,,,") || !strings.Contains(lines[1], "Line 5") || !strings.HasPrefix(lines[2], "row-1100,Too,many,") {
		t.Errorf("the rejected rows are %s", rejected)
	}
	screenshot(t, c.ctx, "console-import.png")

	c.click("Close")
	c.click("Import")
	c.visible("main input[type=file]")
	c.upload("again.csv", strings.Replace(rejected, "row-3,,", "row-3,Three,", 1))
	c.click("Preview the first 2 rows")
	c.click("Import 2 rows")
	c.await(`document.querySelector(".many").innerText.includes("2 written, 0 refused")`)

	c.click("Close")
	c.click("Import")
	c.visible("main input[type=file]")
	c.upload("orders.ndjson", "# a comment\n{\"id\": \"json\", \"name\": \"Of JSON\"}\n{\"id\": 7\n")
	c.click("Preview the first 2 rows")
	c.click("Import 2 rows")
	c.await(`document.querySelector(".many").innerText.includes("1 written, 1 refused")`)
	if rejected := c.made(); !strings.HasPrefix(rejected, "# Line 3: ") || !strings.HasSuffix(rejected, "\n{\"id\": 7\n") {
		t.Errorf("the rejected lines are %s", rejected)
	}
}

// TestConsoleExports: the file has the list with its conditions and columns, and no cell that a spreadsheet runs.
func TestConsoleExports(t *testing.T) {
	c := several(t)
	script := axe(t)
	orders(c.s, 1000)
	c.s.Do(http.MethodPost, "/api/v1/orders/evil?context=main", `{"name": "=HYPERLINK(\"http://example.com\",\"R3\")", "description": "two\nlines", "externalReference": "R3"}`, http.StatusCreated)
	c.show("/networks/main/list/orders?orderBy=name&columns=name,description&where=externalReference%3DR3", "main tbody")
	c.keepFiles()
	c.click("Export")
	c.click("Make the file")
	c.visible(`.many a[download="orders.csv"]`)
	file := c.made()
	if lines := strings.Split(file, "\r\n"); len(lines) != 1+143+1+1 || lines[0] != "id,name,description" || !strings.Contains(file, "order-003,Order 003,\r\n") {
		t.Errorf("the file has %d lines: %.300s", len(lines), file)
	}
	if !strings.Contains(file, `evil,"'=HYPERLINK(""http://example.com"",""R3"")","two`+"\n"+`lines"`) {
		t.Errorf("the file has a cell that a spreadsheet runs: %.300s", file)
	}
	c.judge(script, "an export")
	c.show("/networks/main/list/orders?columns=name", "main tbody")
	c.keepFiles()
	c.click("Export")
	c.visible(".many select")
	c.choose(".many select", "ndjson")
	c.click("Make the file")
	c.visible(`.many a[download="orders.ndjson"]`)
	if file := c.made(); strings.Count(file, "\n") != 1001 || !strings.Contains(file, `{"id":"order-000","name":"Order 000"}`) {
		t.Errorf("the file is %.300s", file)
	}
}

// TestConsoleImportsOnce: a transaction whose answer is lost is sent again, and creates nothing twice.
func TestConsoleImportsOnce(t *testing.T) {
	c := several(t)
	c.click("Import")
	c.visible("main input[type=file]")
	c.upload("orders.ndjson", "{\"name\": \"One\"}\n{\"name\": \"Two\"}\n")
	c.click("Preview the first 2 rows")
	c.await(`document.querySelector(".many").innerText.includes("2 of 2: 2 accepted")`)
	evaluate[string](t, c.ctx, `window.sent = 0; { const send = fetch; window.fetch = async (path, init) => {
		const answer = await send(path, init)
		if (String(path).includes("/batch") && ++window.sent === 1) throw new TypeError("the answer is lost")
		return answer
	} } ""`)
	c.click("Import 2 rows")
	c.await(`document.querySelector(".many").innerText.includes("2 of 2: 2 written, 0 refused")`)
	if sent := evaluate[int](t, c.ctx, "window.sent"); sent != 2 {
		t.Errorf("the transaction was sent %d times", sent)
	}
	if list := c.s.Do(http.MethodGet, "/api/v1/orders?context=main", "", http.StatusOK); fmt.Sprint(list["totalCount"]) != "2" {
		t.Errorf("there are %v orders", list["totalCount"])
	}
}
