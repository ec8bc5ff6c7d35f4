package browser

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee/integration/marqueetest"
)

// tab opens another tab of the same browser.
func (x *screen) tab() *screen {
	x.t.Helper()
	ctx, cancel := chromedp.NewContext(x.ctx)
	x.t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		x.t.Fatal(err)
	}
	return newScreen(x.t, ctx, x.s)
}

// TestConsoleTabs: another tab has the session of the first one. Neither overwrites what the other has saved;
// and when one signs out, the other keeps what was typed, and the focus where that was, until somebody signs in again.
func TestConsoleTabs(t *testing.T) {
	one := parcels(t)
	const path = "/api/v1/parcels/a?context=main"
	one.s.Do(http.MethodPut, path, `{"name": "Parcel", "note": "before", "weight": 1}`, http.StatusCreated)
	two := one.tab()
	for _, x := range []*screen{one, two} {
		x.show("/object/parcels/a")
		x.node(0, "Parcel", "form")
	}
	first, second := one.node(0, "Parcel", "form"), two.node(0, "Parcel", "form")
	one.write(one.node(first, "Note", "textbox"), "of the first")
	two.write(two.node(second, "Note", "textbox"), "of the second")
	two.write(two.node(second, "Weight", "textbox"), "2")
	two.press(second, "Save")
	two.says("Saved.")
	one.press(first, "Save")
	one.press(0, "Yours: Note", "radio")
	one.press(0, "Save the result")
	one.says("Saved.")
	one.expectObject(path, map[string]any{"note": "of the first", "weight": int64(2)})

	note := one.node(0, "Note", "textbox")
	one.write(note, "typed before the end")
	evaluate[string](t, two.ctx, `[...document.querySelectorAll("header button")].at(-1).click(); ""`)
	one.await(`document.querySelector("dialog[open] input[name=password]:focus")`)
	(&console{keyboard: keyboard{t, two.ctx}}).reloaded(`document.querySelector("input[name=username]")`)
	if kept := evaluate[string](t, one.ctx, `JSON.stringify(sessionStorage)`); kept != "{}" {
		t.Errorf("after the session has ended in another tab, this one has %s", kept)
	}
	keyboard{t, one.ctx}.press(marqueetest.Password + kb.Enter)
	one.await(`!document.querySelector("dialog[open]")`)
	if kept := one.call(note, "function() { return this === document.activeElement && this.value }"); kept != "typed before the end" {
		t.Errorf("the field that had the focus has %q now, and the focus is on %s", kept, evaluate[string](t, one.ctx, "document.activeElement.outerHTML.slice(0, 200)"))
	}
	one.press(one.node(0, "Parcel", "form"), "Save")
	one.says("Saved.")
	one.expectObject(path, map[string]any{"note": "typed before the end"})
	if sent := one.sent(); sent[len(sent)-1].Body != `{"note":"typed before the end"}` {
		t.Errorf("sent %v", sent)
	}
}
