package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/integration/marqueetest"
)

// screen is the console as a screen reader finds it: elements have a role and a label, and are
// within groups that have them, too.
type screen struct {
	t   *testing.T
	ctx context.Context
	s   *marqueetest.Server
}

// newScreen has the browser keep what it tells screen readers: otherwise it makes that again for each
// question, and sometimes does not end.
func newScreen(t *testing.T, ctx context.Context, s *marqueetest.Server) *screen {
	t.Helper()
	if _, err := chromedp.Call(ctx, accessibility.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return &screen{t, ctx, s}
}

// within is an element in which others are looked for; zero is the page.
type within int

// patience is how long an element is waited for.
const patience = 8 * time.Second

// onConsole starts a server, and signs in the administrator.
func onConsole(t *testing.T, options marquee.Options) *screen {
	t.Helper()
	c := openConsole(t, options)
	c.run(chromedp.Navigate(c.s.URL + "/console/"))
	c.signIn(marqueetest.Password)
	c.visible("header .who")
	return newScreen(t, c.ctx, c.s)
}

// await waits for an expression of the page to be true.
func (x *screen) await(expression string) {
	x.t.Helper()
	met, err := chromedp.Run(x.ctx, chromedp.Evaluate[bool](fmt.Sprintf(waiting, expression), chromedp.EvalAwaitPromise))
	if err != nil || !met {
		screenshot(x.t, x.ctx, "form-failed.png")
		x.t.Fatalf("%s is not true: %v: %s", expression, err, x.text())
	}
}

// text returns what the page shows.
func (x *screen) text() string {
	x.t.Helper()
	return evaluate[string](x.t, x.ctx, `document.querySelector("main").innerText.slice(0, 3000)`)
}

// show opens a page of the console, and keeps what it sends in window.sent.
func (x *screen) show(path string) {
	x.t.Helper()
	if err := chromedp.Do(x.ctx, chromedp.Navigate(x.s.URL+"/console/networks/"+marqueetest.Network+path)); err != nil {
		x.t.Fatal(err)
	}
	x.await(`!!document.querySelector("header .who")`) // tokens are fetched before that, and tests replace fetch
	evaluate[string](x.t, x.ctx, `window.sent = []; {
		const send = window.fetch;
		window.fetch = (path, init) => { if (init.method !== "GET" && !path.includes("authenticate")) sent.push({method: init.method, path, headers: init.headers, body: init.body}); return send(path, init) };
	} ""`)
}

// visit leads to another page of the console, which show has opened, as its links do.
func (x *screen) visit(path string) {
	x.t.Helper()
	evaluate[string](x.t, x.ctx, fmt.Sprintf(`window.confirm = () => true; sent.length = 0; {
		const link = document.createElement("a");
		link.href = %q;
		document.body.append(link);
		link.click();
		link.remove();
	} ""`, "/console/networks/"+marqueetest.Network+path))
}

// request is one that the console has sent.
type request struct {
	Method, Path, Body string
	Headers            map[string]string
}

func (x *screen) sent() []request {
	x.t.Helper()
	return evaluate[[]request](x.t, x.ctx, "window.sent")
}

// reader finds elements of the page by what screen readers are told of them, and remembers them by
// their numbers. It is put into a page when something is looked for there first. Inputs of dates and times,
// which have no role of ARIA, have their type.
const reader = `(window.reader ??= {
	elements: [document],
	find(within, label, roles) {
		const found = [...this.elements[within].querySelectorAll("*:not(option)")].filter(e => roles.includes(e.computedRole || e.type) && e.computedName === label);
		return found.map(e => this.elements.includes(e) ? this.elements.indexOf(e) : this.elements.push(e) - 1);
	},
})`

// lookFor returns such elements as soon as there are some, or after a time none.
func (x *screen) lookFor(in within, label string, roles []string, patience time.Duration) (found []within, err error) {
	expression := fmt.Sprintf(`new Promise(done => {
		const until = Date.now() + %d
		const look = () => { const found = %s.find(%d, %s, %s); if (found.length > 0 || Date.now() >= until) done(found); else setTimeout(look, 2) }
		look()
	})`, patience.Milliseconds(), reader, in, jsonText(label), jsonText(roles))
	return chromedp.Run(x.ctx, chromedp.Evaluate[[]within](expression, chromedp.EvalAwaitPromise))
}

// nodes returns the elements with one of the roles, and a label.
func (x *screen) nodes(in within, label string, roles ...string) []within {
	x.t.Helper()
	found, err := x.lookFor(in, label, roles, 0)
	if err != nil {
		x.t.Fatalf("%s %q: %v", roles, label, err)
	}
	return found
}

// node waits for an element, also while the page is loaded again.
func (x *screen) node(in within, label string, roles ...string) within {
	x.t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if found, err := x.lookFor(in, label, roles, time.Until(until)); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	screenshot(x.t, x.ctx, "form-failed.png")
	x.t.Fatalf("there is no %s with the label %q: %s", strings.Join(roles, " or "), label, x.text())
	return 0
}

// last waits for an element, and returns the last one: what a group has for itself is behind what the groups
// within it have.
func (x *screen) last(in within, label string, roles ...string) within {
	x.t.Helper()
	x.node(in, label, roles...)
	found := x.nodes(in, label, roles...)
	return found[len(found)-1]
}

// says waits for a message, such as that an object has been saved.
func (x *screen) says(message string) {
	x.t.Helper()
	x.await(fmt.Sprintf(`[...document.querySelectorAll("[role=status]")].some(e => e.innerText === %s)`, jsonText(message)))
}

// call calls a function on an element.
func (x *screen) call(on within, function string, arguments ...any) string {
	x.t.Helper()
	list := ""
	for _, argument := range arguments {
		list += ", " + jsonText(argument)
	}
	out, err := chromedp.Run(x.ctx, chromedp.Evaluate[string](fmt.Sprintf("(async () => String(await (%s).call(%s.elements[%d]%s) ?? ''))()", function, reader, on, list),
		chromedp.EvalAwaitPromise, func(p *runtime.EvaluateParams) { p.UserGesture = new(true) }))
	if err != nil {
		x.t.Fatal(err)
	}
	return out
}

// press activates a button or a box.
func (x *screen) press(in within, label string, roles ...string) {
	x.t.Helper()
	if len(roles) == 0 {
		roles = []string{"button"}
	}
	x.activate(x.node(in, label, roles...))
}

func (x *screen) activate(on within) {
	x.t.Helper()
	x.call(on, "function() { this.focus(); this.click(); }")
}

// write replaces what is in a text field.
func (x *screen) write(on within, text string) {
	x.t.Helper()
	x.call(on, `function(text) { this.focus(); this.select?.(); document.execCommand(text === "" ? "delete" : "insertText", false, text); }`, text)
}

// choose takes the option of a select with a text.
func (x *screen) choose(on within, option string) {
	x.t.Helper()
	chosen := x.call(on, `function(text) {
		const option = [...this.options].find(o => o.text === text);
		if (!option) return [...this.options].map(o => o.text).join(", ");
		this.focus();
		this.value = option.value;
		this.dispatchEvent(new Event("input", {bubbles: true}));
		this.dispatchEvent(new Event("change", {bubbles: true}));
		return "";
	}`, option)
	if chosen != "" {
		x.t.Fatalf("there is no option %q among %s", option, chosen)
	}
}

// setTime sets a field for a date or a time, whose keys depend on the language of the browser.
func (x *screen) setTime(on within, value string) {
	x.t.Helper()
	x.call(on, `function(value) { this.focus(); this.value = value; this.dispatchEvent(new Event("input", {bubbles: true})); }`, value)
}

// refer chooses an object by its name, with the keyboard. Where a text is as good as a reference, none is
// chosen by itself.
func (x *screen) refer(on within, name string) {
	x.t.Helper()
	x.write(on, name)
	const listed = `[...document.querySelectorAll("[role=listbox]:not([hidden]) [role=option]%s")].some(o => o.innerText.startsWith(%s))`
	x.await(fmt.Sprintf(listed, "", jsonText(name)))
	k := keyboard{x.t, x.ctx}
	if !evaluate[bool](x.t, x.ctx, fmt.Sprintf(listed, "[aria-selected=true]", jsonText(name))) {
		k.press(kb.ArrowDown)
		x.await(fmt.Sprintf(listed, "[aria-selected=true]", jsonText(name)))
	}
	k.press(kb.Enter)
}

// open unfolds a group.
func (x *screen) open(group within, label string) {
	x.t.Helper()
	x.call(x.node(group, label, "button"), `function() { if (this.getAttribute("aria-expanded") === "false") this.click(); }`)
}

// unfold returns the group of an object, which it adds if there is none.
func (x *screen) unfold(in within, label string) within {
	x.t.Helper()
	group := x.node(in, label, "group")
	if add := x.nodes(group, "Add "+label, "button"); len(add) > 0 {
		x.activate(add[0])
		group = x.node(in, label, "group")
	}
	x.open(group, label)
	return group
}
