package browser

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"marquee"
	"marquee/engine"
	"marquee/integration/marqueetest"
	"marquee/integration/process"
	"marquee/resources"
)

// maxFirst and maxList are the times, in milliseconds, within which the first page and a list of a million
// objects must be shown after their addresses were opened, on a processor that is slowed four times.
const maxFirst, maxList = 1000, 1500

// TestConsoleTimes judges the best of three attempts. MARQUEE_ROWS sets how many objects the list has, 20,000
// if it is missing.
func TestConsoleTimes(t *testing.T) {
	process.Measures(t)
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	rows := int(setting(t, "MARQUEE_ROWS", 20_000))
	c.manyOrders(rows)
	if _, err := chromedp.Call(c.ctx, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 4}); err != nil {
		t.Fatal(err)
	}
	c.took("the sign-in", "/networks/main", `document.activeElement?.matches("input[name=username]")`, maxFirst)
	c.signIn(marqueetest.Password)
	c.visible("main .history")
	c.took("the first page", "/networks/main", `document.querySelector("main .history li") && document.querySelector("nav section a")`, maxFirst)
	for _, query := range []string{"", "?orderBy=name&where=externalReference%3DR3"} {
		c.took("the list "+query, "/networks/main/list/orders"+query, `document.querySelectorAll("main tbody tr").length === 50`, maxList)
	}
}

// took opens a page three times, and fails if it is never usable in time.
func (c *console) took(name, path, usable string, most float64) {
	c.t.Helper()
	var took []float64
	for range 3 {
		c.run(chromedp.Navigate(c.s.URL + "/console" + path))
		c.await(usable)
		took = append(took, evaluate[float64](c.t, c.ctx, "performance.now()"))
	}
	c.t.Logf("%s is shown after %.0f ms", name, took)
	if slices.Min(took) > most {
		c.t.Errorf("%s is shown after %.0f ms, and not within %.0f", name, took, most)
	}
}

// manyOrders writes orders past HTTP.
func (c *console) manyOrders(n int) {
	c.t.Helper()
	e, me := c.s.Marquee.Engine(), firstOf(c.s, "users")
	of, err := e.Type("orders")
	if err != nil {
		c.t.Fatal(err)
	}
	for first := 0; first < n; first += 1000 {
		var operations []engine.Operation
		for i := first; i < min(first+1000, n); i++ {
			operations = append(operations, engine.Operation{Type: of, Object: map[string]any{"id": fmt.Sprint("order-", i), "name": fmt.Sprint("Order ", i), "externalReference": fmt.Sprint("R", i%7)}})
		}
		if _, err := e.Write(context.Background(), &engine.Caller{System: true, User: me}, engine.Batch{Network: marqueetest.Network, Operations: operations}); err != nil {
			c.t.Fatal(err)
		}
	}
}
