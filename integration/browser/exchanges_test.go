package browser

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// recorder keeps the requests of a page and their answers in window.exchanges. Requests that wait for
// changes are not pending: nothing else waits for them.
//
// Answers are held as long as the tab has the item "holding", until the function release is called, so that what is
// asked before and after them can be told apart.
const recorder = `window.exchanges = []; window.pending = 0; window.held = []; window.release = () => held.splice(0).forEach(done => done()); {
	const send = window.fetch;
	window.fetch = async (path, init) => {
		const exchange = {method: init.method, path, headers: {...init.headers}, body: typeof init.body === "string" ? init.body : "", began: performance.now()};
		exchanges.push(exchange);
		const waits = path.includes("wait=") ? 0 : 1;
		pending += waits;
		try {
			const answer = await send(path, init);
			const text = await answer.text();
			Object.assign(exchange, {status: answer.status, ended: performance.now(), answered: Object.fromEntries(answer.headers), answer: text});
			if (waits && sessionStorage.getItem("holding")) await new Promise(done => held.push(done));
			return new Response(text || null, {status: answer.status, headers: answer.headers});
		} finally {
			pending -= waits;
		}
	};
} ""`

// exchange is a request that the console has sent, and its answer, whose status is 0 as long as there is none.
type exchange struct {
	Method, Path, Body, Answer string
	Headers, Answered          map[string]string
	Status                     int
	// Began and Ended are times in milliseconds.
	Began, Ended float64
}

// kind is the path of the request alone.
func (e exchange) kind() string {
	path, _, _ := strings.Cut(e.Path, "?")
	return path
}

// record has each page that is opened from now on keep what it sends and receives.
func (c *console) record() {
	c.t.Helper()
	if _, err := chromedp.Call(c.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: recorder}); err != nil {
		c.t.Fatal(err)
	}
}

// settled is whether the page comes to rest: it waits for no answer but those that are held, and an answer before has led to no other request
// after a few frames, in which what has changed is rendered and its effects run.
const settled = `new Promise(done => {
	const until = Date.now() + 20000
	let quiet = 0, seen = -1
	const look = () => {
		quiet = pending === held.length && exchanges.length === seen && !document.querySelector(held.length > 0 ? "main .part" : "main .busy") ? quiet + 1 : 0
		seen = exchanges.length
		if (quiet > 2) done(true)
		else if (Date.now() > until) done(false)
		else requestAnimationFrame(() => setTimeout(look))
	}
	look()
})`

// settle waits until the page rests.
func (c *console) settle() {
	c.t.Helper()
	rests, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool](settled, chromedp.EvalAwaitPromise))
	if err != nil || !rests {
		c.t.Fatalf("the page does not rest: %v: %.2000s", err, c.text("body"))
	}
}

// exchanges returns what has been sent and received since the last time.
func (c *console) exchanges() []exchange {
	c.t.Helper()
	return evaluate[[]exchange](c.t, c.ctx, `exchanges.splice(0)`)
}

var (
	sealed  = regexp.MustCompile(`"(nextCursor|position)": ?"[^"]*"|\b(cursor|position|after)=[A-Za-z0-9_%-]{20,}`)
	blob    = regexp.MustCompile(`blob:/[0-9a-f-]+`)
	made    = regexp.MustCompile(`\b[a-z0-9]{16}\b`)
	secrets = regexp.MustCompile(`"(access_token|refresh_token|schemas)": ?"[^"]*"`)
	// set is the digest of all schemas, which everybody may know.
	set = regexp.MustCompile(`^\{("set":\d+,)?"digest":"[^"]*",`)
)

// comparable is a text without what differs each time: what is sealed, tokens, and ids that the service has made.
func (c *console) comparable(text string) string {
	text = blob.ReplaceAllString(strings.ReplaceAll(text, c.s.URL, ""), "blob:…")
	text = sealed.ReplaceAllString(text, "$1$2=…")
	return made.ReplaceAllString(secrets.ReplaceAllString(text, `"$1": …`), "ID")
}

// text is a request with its answer, without what differs each time.
func (e exchange) text(c *console) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", e.Method, e.Path)
	headers := func(of map[string]string, without ...string) {
		var lines []string
		for name, value := range of {
			if !slices.Contains(without, strings.ToLower(name)) {
				lines = append(lines, strings.ToLower(name)+": "+value+"\n")
			}
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	}
	headers(e.Headers, "authorization", "idempotency-key")
	if !strings.HasPrefix(e.Path, "/api/authenticate") {
		b.WriteString(e.Body + "\n")
	}
	fmt.Fprintf(&b, "=> %d\n", e.Status)
	differ := []string{"date", "x-request-id", "content-length", "marquee-position", "marquee-schemas"}
	if set.MatchString(e.Answer) {
		differ = append(differ, "etag")
	}
	headers(e.Answered, differ...)
	b.WriteString(set.ReplaceAllString(e.Answer, "{") + "\n")
	return c.comparable(b.String())
}
