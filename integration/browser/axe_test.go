package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/integration/installed"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// faults are the rules of axe-core that the page violates, with the first elements of each. That for the size of
// targets, of WCAG 2.2 AA, does not apply by default.
const faults = `axe.run({resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then(r => window.faults = r.violations.map(v => v.id + ": " + v.nodes.slice(0, 4).map(n => n.html.slice(0, 200)).join(" ")).join("\n"), e => window.faults = String(e)); ""`

// accessible fails if axe-core finds a fault in the page. Colours are judged when they do not change any more.
func accessible(t *testing.T, ctx context.Context, script, name string) {
	t.Helper()
	await(t, ctx, "document.getAnimations().length === 0")
	if !evaluate[bool](t, ctx, "!!window.axe") {
		evaluate[string](t, ctx, script+`; ""`)
	}
	evaluate[string](t, ctx, "delete window.faults; "+faults)
	await(t, ctx, "window.faults !== undefined")
	if found := evaluate[string](t, ctx, "window.faults"); found != "" {
		t.Errorf("%s:\n%s", name, found)
	}
}

// await waits for an expression of the page to be true.
func await(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression)); err != nil {
		t.Fatal(expression, err)
	}
}

// axe returns the script of axe-core.
func axe(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(installed.Suite("browser").Node(t, "axe"), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// TestAccessibility: axe-core finds no fault in any kind of page.
func TestAccessibility(t *testing.T) {
	ctx, _ := open(t)
	script := axe(t)
	s := marqueetest.StartWith(t, marquee.Options{Application: resources.New().Application()})
	k := keyboard{t, ctx}
	for path, shown := range map[string]string{"/": "h1", "/docs": "#operations-tag-Order", "/docs/types/lineitems": "h1", "/docs/messages": "h1",
		"/docs/messages/error.property.required": "h1"} {
		k.run(chromedp.Navigate(s.URL+path), chromedp.WaitVisible(chromedp.CSS(shown)))
		accessible(t, ctx, script, path)
	}
}

// TestOperationAccessibility: axe-core finds no fault in what the documentation shows when it is used:
// operations of each method with their forms, responses and schemas, and the sign-in.
func TestOperationAccessibility(t *testing.T) {
	ctx, _ := open(t)
	script := axe(t)
	s := marqueetest.StartWith(t, marquee.Options{Application: resources.New().Application()})
	s.Do("POST", "/api/v1/orders/spring?context=main", `{"name": "Spring"}`, 201)
	k := keyboard{t, ctx}
	k.run(chromedp.Navigate(s.URL+"/docs"), chromedp.WaitVisible(chromedp.CSS("#operations-tag-Order")))
	click := func(selector, shown string) {
		t.Helper()
		evaluate[string](t, ctx, fmt.Sprintf(`document.querySelectorAll(%q).forEach(e => e.click()); ""`, selector))
		await(t, ctx, fmt.Sprintf(`document.querySelector(%q)?.checkVisibility()`, shown))
	}
	write := func(selector, text string) {
		t.Helper()
		evaluate[string](t, ctx, fmt.Sprintf(`document.querySelector(%q).focus(); ""`, selector))
		k.press(text + kb.Tab) // which ends the input
	}
	const list = "#operations-Order-listOrders"
	for tag, operations := range map[string][]string{"Order": {"listOrders", "saveOrders", "putOrders", "patchOrders"}, "Asset": {"uploadAssets"}} {
		click("#operations-tag-"+tag, "#operations-"+tag+"-"+operations[0])
		for _, name := range operations {
			block := "#operations-" + tag + "-" + name
			click(block+" .opblock-summary-control", block+" .btn.execute")
			if hash := evaluate[string](t, ctx, "location.hash"); hash != "#/"+tag+"/"+name {
				t.Errorf("the address of %s is %s", name, hash)
			}
		}
	}
	accessible(t, ctx, script, "forms")

	click("button.authorize", "#oauth_username")
	accessible(t, ctx, script, "sign-in")
	write("#oauth_username", marqueetest.Username)
	write("#oauth_password", marqueetest.Password)
	click("button.authorize.modal-btn:not([type=submit])", ".auth-container")
	k.run(signedIn)
	accessible(t, ctx, script, "signed in")
	click("button.close-modal", list)

	click(".btn.execute", "#operations-Asset-uploadAssets input.invalid")
	write(list+` tr[data-param-name="context"] input`, marqueetest.Network)
	click(list+" .btn.execute", list+" .live-responses-table tbody .response-col_status")
	accessible(t, ctx, script, "a response")

	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		t.Fatal(err)
	}
	click(list+" .opblock-summary-control", "#operations-Order-saveOrders")
	click(list+" .opblock-summary-control", list+" .btn.execute")
	accessible(t, ctx, script, "a wide screen, and an operation that is opened again")
	evaluate[string](t, ctx, fmt.Sprintf(`document.querySelector(%q).scrollIntoView(); ""`, list))
	screenshot(t, ctx, "docs-operation.png")
	click(".try-out__btn.cancel", list+" .try-out__btn:not(.cancel)")
	click(".tablinks[data-name=model]", ".json-schema-2020-12-accordion")
	click(`#operations-Order-putOrders [data-json-schema-level="1"] > * > .json-schema-2020-12-expand-deep-button`, `[data-json-schema-level="2"]`)
	evaluate[string](t, ctx, `document.querySelector("#operations-Order-putOrders .json-schema-2020-12").scrollIntoView(); ""`)
	screenshot(t, ctx, "docs-schema.png")
	accessible(t, ctx, script, "schemas")
}
