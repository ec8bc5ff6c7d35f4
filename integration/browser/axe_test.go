package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"marquee"
	"marquee/integration/installed"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// faults are the rules of axe-core that the page violates, with the first elements of each.
const faults = `axe.run().then(r => window.faults = r.violations.map(v => v.id + ": " + v.nodes.slice(0, 4).map(n => n.html.slice(0, 200)).join(" ")).join("\n"), e => window.faults = String(e)); ""`

// accessible fails if axe-core finds a fault in the page.
func accessible(t *testing.T, ctx context.Context, script, name string) {
	t.Helper()
	evaluate[string](t, ctx, script+"; delete window.faults; "+faults)
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](`window.faults !== undefined`)); err != nil {
		t.Fatal(err)
	}
	if found := evaluate[string](t, ctx, "window.faults"); found != "" {
		t.Errorf("%s:\n%s", name, found)
	}
}

// TestAccessibility: axe-core finds no fault in any kind of page.
func TestAccessibility(t *testing.T) {
	ctx, _ := open(t)
	folder := installed.Suite("browser").Node(t, "axe")
	script, err := os.ReadFile(filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	s := marqueetest.StartWith(t, marquee.Options{Application: resources.New().Application()})
	k := keyboard{t, ctx}
	for path, shown := range map[string]string{"/": "h1", "/docs": "#operations-tag-Order", "/docs/types/lineitems": "h1", "/docs/messages": "h1",
		"/docs/messages/error.property.required": "h1"} {
		k.run(chromedp.Navigate(s.URL+path), chromedp.WaitVisible(chromedp.CSS(shown)))
		accessible(t, ctx, string(script), path)
	}
}
