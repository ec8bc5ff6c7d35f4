package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/resources"
)

// maxToType is how many keys lead from the beginning of a page to the field that finds a type.
const maxToType = 3

// strike presses a key as keyboards do, whose character is not typed if the page does something else with it.
func (k keyboard) strike(key rune) {
	k.t.Helper()
	for _, event := range kb.Encode(key) {
		if event.Type == input.DispatchKeyEventTypeKeyDown {
			event.Type = input.DispatchKeyEventTypeRawKeyDown
		}
		if _, err := chromedp.Call[input.DispatchKeyEventParams, cdp.Empty](k.ctx, input.DispatchKeyEvent, *event); err != nil {
			k.t.Fatal(err)
		}
	}
}

// TestConsoleFindsType: a type is reached by its name, after a shortcut or the links that skip what is before it, also
// on a phone, whose menu is closed.
func TestConsoleFindsType(t *testing.T) {
	c := openConsole(t, marquee.Options{Application: resources.New().Application()})
	orders(c.s, 60)
	c.begin()
	const field = `document.activeElement.matches("nav input")`
	shown := func(path string) {
		t.Helper()
		c.await(fmt.Sprintf(`location.pathname.endsWith(%q) && document.activeElement.matches("h1")`, path))
	}
	c.strike('t')
	if !evaluate[bool](t, c.ctx, field) {
		t.Fatalf("the shortcut leads to %s", evaluate[string](t, c.ctx, "document.activeElement.outerHTML.slice(0, 200)"))
	}
	c.press("zzz")
	c.await(`document.querySelector("nav [role=status]").innerText === "No type has this name." && !document.querySelector("nav section")`)
	c.press(kb.Enter + kb.Escape)
	c.await(`document.querySelector("nav input").value === "" && document.querySelectorAll("nav section a").length > 20`)
	c.press("line i")
	c.await(`[...document.querySelectorAll("nav section a")].map(e => e.innerText).join() === "Line item" && document.querySelector("nav [role=status]").innerText === "Enter opens Line item."`)
	screenshot(t, c.ctx, "console-menu.png")
	c.judge(axe(t), "a menu in which a type is looked for")
	c.press(kb.Enter)
	shown("/list/lineitems")
	c.strike('t')
	c.press("ordeR" + kb.Enter) // a name of its own, and a part of others
	shown("/list/orders")
	c.await(`document.querySelector("nav input").value === ""`)

	c.wide(360, 740)
	c.show("/networks/main/list/orders", "main table")
	for range maxToType - 1 {
		c.press(kb.Tab)
	}
	c.press(kb.Enter)
	if !evaluate[bool](t, c.ctx, field) {
		t.Fatalf("%d keys lead to %s", maxToType, evaluate[string](t, c.ctx, "document.activeElement.outerHTML.slice(0, 200)"))
	}
	screenshot(t, c.ctx, "console-menu-360.png")
	c.within(360, "a menu")
	c.press("creative" + kb.Enter)
	shown("/list/creatives")
	if open := evaluate[bool](t, c.ctx, `document.querySelector("nav details").open`); open {
		t.Error("the menu covers the page that was chosen in it")
	}
}
