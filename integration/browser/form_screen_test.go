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

	"marquee"
	"marquee/integration/marqueetest"
)

// screen is the console as a screen reader finds it: elements have a role and a label, and are
// within groups that have them, too.
type screen struct {
	t   *testing.T
	ctx context.Context
	s   *marqueetest.Server
	// together leaves steps until something of the page is asked for, as each request of the browser takes time.
	together bool
	left     []string
	// numbered is how many elements have a number.
	numbered within
}

// newScreen has the browser keep what it tells screen readers: otherwise it makes that again for each
// question, and sometimes does not end.
func newScreen(t *testing.T, ctx context.Context, s *marqueetest.Server) *screen {
	t.Helper()
	if _, err := chromedp.Call(ctx, accessibility.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return &screen{t: t, ctx: ctx, s: s}
}

// within is an element in which others are looked for; zero is the page.
type within int

// patience is how long an element is waited for.
const patience = 20 * time.Second

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
	x.settle()
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
	evaluate[string](x.t, x.ctx, fmt.Sprintf(`window.confirm = () => true; window.reader = undefined; sent.length = 0; {
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
	x.settle()
	return evaluate[[]request](x.t, x.ctx, "window.sent")
}

// reader finds elements of the page by what screen readers are told of them, and remembers them by
// their numbers. It is put into a page when something is looked for there first. Inputs of dates and times,
// which have no role of ARIA, have their type. Elements that cannot have a role are not asked for theirs, as
// each answer takes time.
const reader = `(window.reader ??= {
	elements: [document],
	places: {form: "form", group: "fieldset", button: "button", textbox: "input, textarea", combobox: "input, select", checkbox: "input", date: "input", "datetime-local": "input", status: "output, [role=status]"},
	find(within, label, roles) {
		const places = roles.map(role => this.places[role] ?? "*:not(option)").join();
		return [...within.querySelectorAll(places)].filter(e => roles.includes(e.computedRole || e.type) && e.computedName === label);
	},
	async until(met, patience) {
		for (const end = Date.now() + patience; ; await new Promise(done => setTimeout(done, 2))) {
			const found = met();
			if (found || Date.now() >= end) return found;
		}
	},
	async take(steps, patience) {
		for (const {as, within, label, roles, last, on, act, given} of steps) {
			if (act) {
				const fault = await act.apply(this.elements[on], given);
				if (fault) return String(fault);
				// The page shows what follows before somebody can do anything else.
				await new Promise(done => { const {port1, port2} = new MessageChannel(); port1.onmessage = () => done(port1.close()); port2.postMessage(0); });
				continue;
			}
			const found = await this.until(() => this.find(this.elements[within], label, roles).at(last ? -1 : 0), patience);
			if (!found) return "there is no " + roles.join(" or ") + " with the label " + JSON.stringify(label);
			this.elements[as] = found;
		}
		return "";
	},
})`

// take takes a step, or leaves it to be taken together with others.
func (x *screen) take(format string, arguments ...any) {
	x.t.Helper()
	x.left = append(x.left, fmt.Sprintf(format, arguments...))
	if !x.together {
		x.settle()
	}
}

// settle takes the steps that are left. An element alone is looked for also while the page is loaded again.
func (x *screen) settle() {
	x.t.Helper()
	steps := x.left
	x.left = nil
	if len(steps) == 0 {
		return
	}
	for until := time.Now().Add(patience); ; {
		fault, err := chromedp.Run(x.ctx, chromedp.Evaluate[string](fmt.Sprintf("%s.take([%s], %d)", reader, strings.Join(steps, ",\n"), time.Until(until).Milliseconds()),
			chromedp.EvalAwaitPromise, func(p *runtime.EvaluateParams) { p.UserGesture = new(true) }))
		switch {
		case fault != "":
			screenshot(x.t, x.ctx, "form-failed.png")
			x.t.Fatalf("%s: %s", fault, x.text())
		case err == nil:
			return
		case len(steps) > 1 || !strings.HasPrefix(steps[0], "{as") || time.Now().After(until):
			x.t.Fatalf("%v: %s", err, steps)
		}
	}
}

// look waits for an element, and returns the number that it gets.
func (x *screen) look(in within, label string, roles []string, last bool) within {
	x.t.Helper()
	x.numbered++
	x.take("{as: %d, within: %d, label: %s, roles: %s, last: %v}", x.numbered, in, jsonText(label), jsonText(roles), last)
	return x.numbered
}

// act calls a function on an element, which returns why it fails, if it does.
func (x *screen) act(on within, function string, arguments ...any) {
	x.t.Helper()
	x.take("{on: %d, act: %s, given: %s}", on, function, jsonText(arguments))
}

// nodes returns the elements that have one of the roles, and a label, now.
func (x *screen) nodes(in within, label string, roles ...string) (found []within) {
	x.t.Helper()
	x.settle()
	n := evaluate[int](x.t, x.ctx, fmt.Sprintf(`{ const found = %s.find(reader.elements[%d], %s, %s); found.forEach((e, i) => reader.elements[%d + i] = e); found.length }`,
		reader, in, jsonText(label), jsonText(roles), x.numbered+1))
	for range n {
		x.numbered++
		found = append(found, x.numbered)
	}
	return found
}

// node waits for an element, also while the page is loaded again.
func (x *screen) node(in within, label string, roles ...string) within {
	x.t.Helper()
	return x.look(in, label, roles, false)
}

// last waits for an element, and returns the last one: what a group has for itself is behind what the groups
// within it have.
func (x *screen) last(in within, label string, roles ...string) within {
	x.t.Helper()
	return x.look(in, label, roles, true)
}

// says waits for a message, such as that an object has been saved.
func (x *screen) says(message string) {
	x.t.Helper()
	x.await(fmt.Sprintf(`[...document.querySelectorAll("[role=status]")].some(e => e.innerText === %s)`, jsonText(message)))
}

// call calls a function on an element, and returns what that returns.
func (x *screen) call(on within, function string, arguments ...any) string {
	x.t.Helper()
	x.settle()
	out, err := chromedp.Run(x.ctx, chromedp.Evaluate[string](fmt.Sprintf("(async () => String(await (%s).apply(%s.elements[%d], %s) ?? ''))()", function, reader, on, jsonText(arguments)),
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
	x.act(on, "function() { this.focus(); this.click(); }")
}

// write replaces what is in a text field.
func (x *screen) write(on within, text string) {
	x.t.Helper()
	x.act(on, `function(text) { this.focus(); this.select?.(); document.execCommand(text === "" ? "delete" : "insertText", false, text); }`, text)
}

// choose takes the option of a select with a text.
func (x *screen) choose(on within, option string) {
	x.t.Helper()
	x.act(on, `function(text) {
		const option = [...this.options].find(o => o.text === text);
		if (!option) return "there is no option " + JSON.stringify(text) + " among " + [...this.options].map(o => o.text).join(", ");
		this.focus();
		this.value = option.value;
		this.dispatchEvent(new Event("input", {bubbles: true}));
		this.dispatchEvent(new Event("change", {bubbles: true}));
	}`, option)
}

// setTime sets a field for a date or a time, whose keys depend on the language of the browser.
func (x *screen) setTime(on within, value string) {
	x.t.Helper()
	x.act(on, `function(value) { this.focus(); this.value = value; this.dispatchEvent(new Event("input", {bubbles: true})); }`, value)
}

// refer chooses an object by its name, with keys. Where a text is as good as a reference, none is chosen by itself.
func (x *screen) refer(on within, name string) {
	x.t.Helper()
	x.write(on, name)
	x.act(on, `async function(name, patience) {
		const shown = more => [...document.querySelectorAll("[role=listbox]:not([hidden]) [role=option]" + more)].some(o => o.innerText.startsWith(name));
		const press = key => this.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
		if (!await reader.until(() => shown(""), patience)) return "nothing is called " + JSON.stringify(name);
		if (!shown("[aria-selected=true]")) press("ArrowDown");
		if (!await reader.until(() => shown("[aria-selected=true]"), patience)) return "nothing is chosen that is called " + JSON.stringify(name);
		press("Enter");
	}`, name, patience.Milliseconds())
}

// open unfolds a group.
func (x *screen) open(group within, label string) {
	x.t.Helper()
	x.act(x.node(group, label, "button"), `function() { if (this.getAttribute("aria-expanded") === "false") this.click(); }`)
}

// unfold returns the group of an object, which it adds if there is none.
func (x *screen) unfold(in within, label string) within {
	x.t.Helper()
	x.act(x.node(in, label, "group"), `function(add) { reader.find(this, add, ["button"])[0]?.click(); }`, "Add "+label)
	group := x.node(in, label, "group")
	x.open(group, label)
	return group
}
