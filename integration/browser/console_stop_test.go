package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"marquee/integration/marqueetest"
)

// holding lets a page wait before it sends a transaction that writes, until window.release is called. It
// counts these transactions from the beginning of the page.
const holding = `window.batches = 0; {
	const send = window.fetch;
	window.fetch = async (path, init) => {
		if (path.includes("/batch") && !path.includes("validateOnly")) {
			window.batches++;
			await new Promise(done => window.release = done);
			window.release = undefined;
		}
		return send(path, init);
	};
}`

// TestConsoleStops: after a stop among transactions, the page says what has been done, and nothing is sent
// until somebody goes on.
func TestConsoleStops(t *testing.T) {
	c := openConsole(t, fairs())
	if _, err := chromedp.Call(c.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: holding}); err != nil {
		t.Fatal(err)
	}
	c.show("/networks/main/list/targets", "input[name=username]")
	c.signIn(marqueetest.Password)
	c.await(`!!document.querySelector(".count")`)
	c.keepFiles()
	written := func(where, want string) {
		t.Helper()
		if n := fmt.Sprint(c.s.Do(http.MethodGet, "/api/v1/targets?context=main&pageSize=1&where="+where, "", http.StatusOK)["totalCount"]); n != want {
			t.Errorf("%s objects are written, want %s", n, want)
		}
	}

	c.click("Import")
	c.visible("main input[type=file]")
	var file strings.Builder
	file.WriteString("id,name\r\n")
	for i := range 1100 {
		fmt.Fprintf(&file, "t%d,Target %d\r\n", i, i)
	}
	c.upload("targets.csv", file.String())
	c.click("Preview the first 100 rows")
	c.click("Import 1,100 rows")
	c.stop(1)
	c.visible(`.many a[download="targets-rejected.csv"]`)
	if rest := strings.Split(strings.TrimSpace(c.made()), "\r\n"); len(rest) != 101 || rest[1] != "t1000,Target 1000,Line 1002: Not sent" {
		t.Errorf("the file of what was not sent is %.300q", rest)
	}
	written("name!=Changed", "1000")
	c.goOn()
	written("name!=Changed", "1100")
	c.click("Close")

	evaluate[string](t, c.ctx, `document.querySelector("main thead input[type=checkbox]").click(); ""`)
	c.click("Select all 1,100 that match")
	c.click("Change them")
	c.visible("select[name=property]")
	c.choose("select[name=property]", "name")
	c.await(`document.activeElement.matches(".many input, .many textarea")`)
	c.press("Changed")
	c.click("Try without writing")
	c.click("Change 1,100 objects")
	c.stop(3) // after the two of the import
	written("name=Changed", "1000")
	c.click("Close") // what has not been sent is still selected
	c.await(`document.querySelector(".selection")?.innerText.includes("100 objects are selected")`)
	written("name=Changed", "1000")
}

// stop stops while the first of two transactions is sent, with which the page has sent a number of them.
func (c *console) stop(sent int) {
	c.t.Helper()
	c.await(`!!window.release`)
	c.click("Stop")
	evaluate[string](c.t, c.ctx, `release(); ""`)
	c.await(`document.querySelector(".many").innerText.includes("1,000 of 1,100: 1,000 written, 0 refused") && document.querySelector(".many").innerText.includes("Stopped. 100 have not been sent.")`)
	if n := evaluate[int](c.t, c.ctx, "batches"); n != sent {
		c.t.Errorf("%d transactions were sent before the stop had an effect, not %d", n, sent)
	}
}

// goOn sends the second transaction.
func (c *console) goOn() {
	c.t.Helper()
	c.click("Continue")
	c.await(`!!window.release`)
	evaluate[string](c.t, c.ctx, `release(); ""`)
	c.await(`document.querySelector(".many").innerText.includes("1,100 of 1,100: 1,100 written, 0 refused")`)
}
