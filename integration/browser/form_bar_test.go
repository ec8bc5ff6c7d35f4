package browser

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// covered is what has the focus, if the bar that stays in sight covers a part of it, or it is out of sight.
const covered = `(({top, bottom}, bar) => top < 0 || bottom > bar.top ? document.activeElement.id + " at " + [top, bottom, bar.top] : "")(
	document.activeElement.getBoundingClientRect(), document.querySelector("main form .actions").getBoundingClientRect())`

// TestFormBar: far down in a long form, it is seen that somebody else has changed the object, which is said once, and what
// has the focus is not covered by that, also on a phone.
func TestFormBar(t *testing.T) {
	x, _, _ := long(t)
	c := &console{keyboard: keyboard{t, x.ctx}, s: x.s}
	for _, width := range []int64{1280, 360} {
		c.wide(width, 740)
		x.show("/object/longs/a")
		form := x.node(0, "Long", "form")
		x.call(x.node(form, "Field150", "textbox"), `function() { this.focus(); scrollBy(0, this.getBoundingClientRect().bottom + 8 - document.querySelector("main form .actions").getBoundingClientRect().top); }`)
		if fault := evaluate[string](t, x.ctx, covered); fault != "" {
			t.Errorf("%d pixels: before anything is said, %s is covered", width, fault)
		}
		x.s.Do(http.MethodPatch, "/api/v1/longs/a?context=main", fmt.Sprintf(`{"field2": "theirs %d"}`, width), http.StatusOK)
		const said = `[...document.querySelectorAll("main [role=status], main [role=alert]")].filter(e => e.innerText.includes("has changed this object since you opened it"))`
		x.await(said + `.length === 1`)
		x.await(covered + ` === ""`) // as soon as the bar is shown with that
		if seen := evaluate[bool](t, x.ctx, said+`.every(e => e.getBoundingClientRect().top >= 0 && e.getBoundingClientRect().bottom <= innerHeight)`); !seen {
			t.Errorf("%d pixels: what others have changed is out of sight", width)
		}
		for range 12 {
			c.press(kb.Tab)
			if fault := evaluate[string](t, x.ctx, covered); fault != "" {
				t.Errorf("%d pixels: %s is covered", width, fault)
			}
		}
		screenshot(t, x.ctx, fmt.Sprintf("form-bar-%d.png", width))
		c.within(int(width), "a form that others have changed")
		if moved := x.call(x.node(form, "Show it as it is now", "button"), "function() { const before = scrollY; this.focus(); return scrollY - before }"); moved != "0" {
			t.Errorf("%d pixels: the page moves by %s with the focus to the bar", width, moved)
		}
		x.press(form, "Show it as it is now")
		x.await(`!document.querySelector("main .notice") && document.activeElement.matches("h1")`)
	}
}
