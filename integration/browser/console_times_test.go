package browser

import (
	"context"
	"fmt"
	"net/url"
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

// build shows and removes tables, as a page that is measured does: a baseline for its time.
const build = `(() => {
	for (let i = 0; i < 3; i++) {
		const table = document.createElement("table");
		for (let row = 0; row < 50; row++)
			for (let cell = 0, tr = table.insertRow(); cell < 10; cell++) tr.insertCell().textContent = "Order " + row + cell;
		document.body.append(table);
		table.offsetHeight;
		table.remove();
	}
})()`

// slowed slows the processor of a page four times.
func slowed(t *testing.T, ctx context.Context) {
	t.Helper()
	if _, err := chromedp.Call(ctx, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 4}); err != nil {
		t.Fatal(err)
	}
}

// judge measures something five times, each time after a baseline that usually takes the given number of milliseconds.
// It passes if the least time is at most most milliseconds. On another machine, which is slower or busy, it
// passes if the median of the times, in units of their baselines, exceeds that of the limit by at most a half.
func judge(t *testing.T, name string, most, usual float64, baseline, measure func() float64) {
	t.Helper()
	var took, based, units []float64
	for i := range 5 {
		based = append(based, baseline())
		took = append(took, measure())
		units = append(units, took[i]/based[i])
	}
	slices.Sort(units)
	t.Logf("%s takes %.0f ms, the baseline %.0f ms, and the ratios are %.1f", name, took, based, units)
	if least := slices.Min(took); least > most && units[2] > 1.5*most/usual {
		t.Errorf("%s takes at least %.0f ms, and %.1f times as long as the baseline: at most %.0f ms, or %.1f times, are allowed", name, least, units[2], most, 1.5*most/usual)
	}
}

// TestConsoleTimes judges how long pages take until they can be used. MARQUEE_ROWS sets how many objects the list has, 20,000
// if it is missing.
func TestConsoleTimes(t *testing.T) {
	process.Measures(t)
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	rows := int(setting(t, "MARQUEE_ROWS", 20_000))
	c.manyOrders(rows)
	slowed(t, c.ctx)
	c.took("the sign-in", "/networks/main", `document.activeElement?.matches("input[name=username]")`, maxFirst)
	c.signIn(marqueetest.Password)
	c.visible("main .history")
	c.took("the first page", "/networks/main", `document.querySelector("main .history li") && document.querySelector("nav section a")`, maxFirst)
	for _, query := range []string{"", "?orderBy=name&where=externalReference%3DR3"} {
		c.took("the list "+query, "/networks/main/list/orders"+query, `document.querySelectorAll("main tbody tr").length === 50`, maxList)
	}
}

// took opens a page, and judges how long it takes until it is usable.
func (c *console) took(name, path, usable string, most float64) {
	c.t.Helper()
	open := func(address, usable string) float64 {
		c.run(chromedp.Navigate(address))
		c.await(usable)
		return evaluate[float64](c.t, c.ctx, "performance.now()")
	}
	judge(c.t, name, most, 250,
		func() float64 {
			return open("data:text/html,"+url.PathEscape(`<!doctype html><body><script type="module">`+build+`; document.body.id = "built"</script>`), `document.body?.id === "built"`)
		},
		func() float64 { return open(c.s.URL+"/console"+path, usable) })
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
