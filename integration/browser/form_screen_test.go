package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
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

// within is an element in which others are looked for; zero is the page.
type within = cdp.BackendNodeID

// patience is how long an element is waited for.
const patience = 8 * time.Second

// onConsole starts a server, and signs in the administrator.
func onConsole(t *testing.T, options marquee.Options) *screen {
	t.Helper()
	c := openConsole(t, options)
	c.run(chromedp.Navigate(c.s.URL + "/console/"))
	c.signIn(marqueetest.Password)
	c.visible("header .who")
	return &screen{t, c.ctx, c.s}
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

// request is one that the console has sent.
type request struct {
	Method, Path, Body string
	Headers            map[string]string
}

func (x *screen) sent() []request {
	x.t.Helper()
	return evaluate[[]request](x.t, x.ctx, "window.sent")
}

// nodes returns the elements with one of the roles, and a label.
func (x *screen) nodes(in within, label string, roles ...string) (found []within) {
	x.t.Helper()
	err := chromedp.Do(x.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		from := in
		if from == 0 {
			document, err := cdp.Call(ctx, t, dom.GetDocument, dom.GetDocumentParams{})
			if err != nil {
				return err
			}
			from = document.Root.BackendNodeID
		}
		answer, err := cdp.Call(ctx, t, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{BackendNodeID: from, AccessibleName: label})
		for _, node := range answer.Nodes {
			var role string
			if node.Role != nil {
				_ = json.Unmarshal(node.Role.Value, &role)
			}
			if !node.Ignored && node.BackendDOMNodeID != in && slices.Contains(roles, role) {
				found = append(found, node.BackendDOMNodeID)
			}
		}
		return err
	}))
	if err != nil && !strings.Contains(err.Error(), "find node") && !strings.Contains(err.Error(), "No node") {
		x.t.Fatalf("%s %q: %v", roles, label, err)
	}
	return found
}

// node waits for an element.
func (x *screen) node(in within, label string, roles ...string) within {
	x.t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if found := x.nodes(in, label, roles...); len(found) > 0 {
			return found[0]
		}
	}
	screenshot(x.t, x.ctx, "form-failed.png")
	x.t.Fatalf("there is no %s with the label %q: %s", strings.Join(roles, " or "), label, x.text())
	return 0
}

// call calls a function on an element.
func (x *screen) call(on within, function string, arguments ...any) string {
	x.t.Helper()
	var out string
	err := chromedp.Do(x.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		resolved, err := cdp.Call(ctx, t, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: on})
		if err != nil {
			return err
		}
		params := runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: resolved.Object.ObjectID, ReturnByValue: new(true), UserGesture: new(true), AwaitPromise: new(true)}
		for _, argument := range arguments {
			text, err := json.Marshal(argument)
			if err != nil {
				return err
			}
			params.Arguments = append(params.Arguments, &runtime.CallArgument{Value: text})
		}
		answer, err := cdp.Call(ctx, t, runtime.CallFunctionOn, params)
		if err == nil && answer.ExceptionDetails != nil {
			err = fmt.Errorf("%s: %v", function, answer.ExceptionDetails)
		}
		if err == nil && len(answer.Result.Value) > 0 {
			_ = json.Unmarshal(answer.Result.Value, &out)
		}
		return err
	}))
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
	x.call(x.node(in, label, roles...), "function() { this.focus(); this.click(); }")
}

// write replaces what is in a text field.
func (x *screen) write(on within, text string) {
	x.t.Helper()
	x.call(on, "function() { this.focus(); this.select?.(); }")
	err := chromedp.Do(x.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
	if err != nil {
		x.t.Fatal(err)
	}
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

// refer chooses an object by its name, with the keyboard.
func (x *screen) refer(on within, name string) {
	x.t.Helper()
	x.write(on, name)
	x.await(fmt.Sprintf(`[...document.querySelectorAll("[role=listbox]:not([hidden]) [role=option][aria-selected=true]")].some(o => o.innerText.startsWith(%q))`, name))
	keyboard{x.t, x.ctx}.press(kb.Enter)
}

// open unfolds a group.
func (x *screen) open(group within, label string) {
	x.t.Helper()
	x.call(x.node(group, label, "button"), `function() { if (this.getAttribute("aria-expanded") === "false") this.click(); }`)
}
