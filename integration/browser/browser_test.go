// Package browser tests the console and the documentation pages in a headless Chromium. It may import
// everything but the insides of stores. Begin with TestDocumentation.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"marquee"
	"marquee/integration/installed"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

// alsoShort is the test that -short does not leave out.
const alsoShort = "TestForms"

// find returns the path of a Chromium. Without one, the test is skipped, or fails if
// MARQUEE_REQUIRE has the word browser.
func find(t *testing.T) string {
	t.Helper()
	if testing.Short() && t.Name() != alsoShort {
		t.Skip("a browser is started")
	}
	// Those without a screen of their own take less processor time.
	names := []string{os.Getenv("MARQUEE_TEST_CHROMIUM"), "chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	installed.Suite("browser").Missing(t, "there is no Chromium: install chromium-headless-shell or chromium, or name one in MARQUEE_TEST_CHROMIUM")
	return ""
}

// requests are the URLs that a page has asked for.
type requests struct {
	mu   sync.Mutex
	urls []string
}

func (r *requests) add(url string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urls = append(r.urls, url)
}

// foreign are those that are not for a server.
func (r *requests) foreign(server string) (urls []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, url := range r.urls {
		if !strings.HasPrefix(url, server+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:"+server) {
			urls = append(urls, url)
		}
	}
	return urls
}

// signedIn waits for the sign-in, after which the form has no password any more.
var signedIn = chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
	_, err := chromedp.Poll[bool](`!document.querySelector("#oauth_password")`)(ctx, t)
	return err
})

// screen is that of a phone.
const width, height = 390, 844

// started is the browser of all tests: its start takes more processor time than most of them.
var started struct {
	once sync.Once
	ctx  context.Context
	end  []context.CancelFunc
	err  error
}

func TestMain(m *testing.M) {
	status := m.Run()
	for _, end := range slices.Backward(started.end) {
		end() // removes the folder of the browser, too
	}
	os.Exit(status)
}

// elsewhere is the host of a server as another machine, over HTTP, knows it: not a secure context, as localhost is.
const elsewhere = "elsewhere.test"

func start(path string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("disable-dev-shm-usage", false), chromedp.Flag("ignore-certificate-errors", true), // of servers that tests start
		chromedp.Flag("enable-blink-features", "ComputedAccessibilityInfo"), // computedRole and computedName, which screen readers are told
		chromedp.Flag("host-resolver-rules", "MAP "+elsewhere+" 127.0.0.1"),
		// As browsers with a screen do, a frame that is not trusted has a process of its own.
		chromedp.Flag("site-per-process", true), chromedp.Flag("enable-features", "NetworkServiceInProcess,IsolateSandboxedIframes"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which Chromium refuses to have as root
	}
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	started.end = append(started.end, end)
	started.ctx, end = chromedp.NewContext(ctx)
	started.end = append(started.end, end)
	started.err = chromedp.Do(started.ctx)
}

// open opens a page with the screen of a phone. Its cookies, its storage and its cache are those of the
// test alone. More functions may listen to its events.
func open(t *testing.T, listeners ...func(event any)) (context.Context, *requests) {
	t.Helper()
	path := find(t)
	started.once.Do(func() { start(path) })
	if started.err != nil {
		installed.Suite("browser").Missing(t, fmt.Sprintf("%s cannot be started: %v", path, started.err))
	}
	seen := &requests{}
	ctx, cancel := chromedp.NewContext(started.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(func(event any) {
		if sent, is := event.(*network.EventRequestWillBeSent); is {
			seen.add(sent.Request.URL)
		}
		for _, listen := range listeners {
			listen(event)
		}
	}))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height, chromedp.EmulateMobile)); err != nil {
		t.Fatal(err)
	}
	limit := 5 * time.Minute
	if os.Getenv("MARQUEE_PAGES")+os.Getenv("MARQUEE_FORMS")+os.Getenv("MARQUEE_ROWS") != "" {
		limit = 2 * time.Hour
	}
	ctx, cancel = context.WithTimeout(ctx, limit)
	t.Cleanup(cancel)
	return ctx, seen
}

// keyboard presses keys, and knows which element has the focus.
type keyboard struct {
	t   *testing.T
	ctx context.Context
}

// maxTabs is the maximum number of times Tab is pressed for an element.
const maxTabs = 400

// outlined is whether what has the focus can be seen to have it. Nothing has it at the end of the page.
const outlined = `document.activeElement === document.body || getComputedStyle(document.activeElement).outlineStyle !== "none"`

// to moves the focus with Tab, through elements that show it, until an element has it.
func (k keyboard) to(selector string) {
	k.t.Helper()
	for range maxTabs {
		k.press(kb.Tab)
		switch evaluate[string](k.t, k.ctx, fmt.Sprintf(`!(%s) ? "unseen" : document.activeElement.matches(%q) ? "found" : ""`, outlined, selector)) {
		case "found":
			return
		case "unseen":
			k.t.Fatalf("the focus cannot be seen on %s", evaluate[string](k.t, k.ctx, "document.activeElement.outerHTML.slice(0, 200)"))
		}
	}
	k.t.Fatalf("Tab does not lead to %s", selector)
}

func (k keyboard) press(keys string) {
	k.t.Helper()
	k.run(chromedp.KeyEvent(keys))
}

func (k keyboard) run(actions ...chromedp.Action[chromedp.Void]) {
	k.t.Helper()
	if err := chromedp.Do(k.ctx, actions...); err != nil {
		k.t.Fatal(err)
	}
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// asked lists the fields of a form that can be seen.
const asked = `[...document.querySelectorAll(".auth-container input, .auth-container select")].filter(e => e.checkVisibility()).map(e => e.id).join(" ")`

// screenshot keeps a picture of the page in .cache/screenshots.
func screenshot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil { // such as of a tab in the background: not what a test that has failed is about
		t.Error(err)
		return
	}
	folder := filepath.Join("..", "..", ".cache", "screenshots")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// tooWide lists the elements that are not within the screen.
const tooWide = `[...document.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > 390).map(e => e.tagName + "." + e.className).slice(0, 12).join(", ")`

// fits fails if the page is wider than the screen.
func fits(t *testing.T, ctx context.Context) {
	t.Helper()
	if wide := evaluate[int](t, ctx, "document.documentElement.scrollWidth"); wide > width {
		t.Errorf("the page is %d pixels wide on a screen of %d: %s", wide, width, evaluate[string](t, ctx, tooWide))
	}
}

// TestDocumentation signs in and sends a request from the documentation, with the
// keyboard alone and on the screen of a phone. No request leaves the server.
func TestDocumentation(t *testing.T) {
	ctx, seen := open(t)
	s := marqueetest.StartWith(t, marquee.Options{Application: resources.New().Application()})
	s.Do("POST", "/api/v1/orders/spring?context=main", `{"name": "Spring"}`, 201)
	k := keyboard{t, ctx}
	k.run(chromedp.Navigate(s.URL+"/docs"), chromedp.WaitVisible(chromedp.CSS("#operations-tag-Order")))
	fits(t, ctx)
	screenshot(t, ctx, "docs.png")

	k.to("button.authorize")
	k.press(kb.Enter)
	k.run(chromedp.WaitVisible(chromedp.CSS("#oauth_username")))
	screenshot(t, ctx, "docs-sign-in.png")
	if fields := evaluate[string](t, ctx, asked); fields != "auth-bearer-value oauth_username oauth_password" {
		t.Errorf("Authorize asks for %s", fields)
	}
	k.to("#oauth_username")
	k.press(marqueetest.Username)
	k.to("#oauth_password")
	k.press(marqueetest.Password)
	k.to("button.authorize.modal-btn")
	k.press(kb.Enter)
	k.run(signedIn)
	k.to("button.btn-done")
	k.press(kb.Enter)

	k.to("#operations-tag-Order button, #operations-tag-Order")
	k.press(kb.Enter)
	k.run(chromedp.WaitVisible(chromedp.CSS("#operations-Order-listOrders")))
	k.to("#operations-Order-listOrders .opblock-summary-control")
	k.press(kb.Enter)
	k.run(chromedp.WaitVisible(chromedp.CSS("#operations-Order-listOrders .btn.execute")))
	k.to(`#operations-Order-listOrders tr[data-param-name="context"] input`)
	k.press(marqueetest.Network)
	k.to("#operations-Order-listOrders .btn.execute")
	k.press(kb.Enter)
	const answer = "#operations-Order-listOrders .live-responses-table"
	k.run(chromedp.WaitVisible(chromedp.CSS(answer+" .response-col_status")), chromedp.ScrollIntoView(chromedp.CSS(answer)))
	status := evaluate[string](t, ctx, fmt.Sprintf("document.querySelector(%q).innerText", answer+" tbody .response-col_status"))
	body := evaluate[string](t, ctx, fmt.Sprintf("document.querySelector(%q).innerText", answer))
	if !strings.HasPrefix(status, "200") || !strings.Contains(body, "Spring") {
		t.Errorf("the request is answered with %s %s", status, body)
	}
	// Examples are shown and not sent.
	if strings.Contains(body, "where=") || !strings.Contains(body, "updateTime") {
		t.Errorf("the page sends an example: %s", body)
	}
	fits(t, ctx)
	screenshot(t, ctx, "docs-answer.png")
	if foreign := seen.foreign(s.URL); len(foreign) > 0 {
		t.Errorf("the page asks for %v", foreign)
	}
}

// TestPages: the other pages fit on a phone, and ask nobody else.
func TestPages(t *testing.T) {
	ctx, seen := open(t)
	s := marqueetest.StartWith(t, marquee.Options{Application: resources.New().Application()})
	for name, path := range map[string]string{
		"home.png": "/", "type.png": "/docs/types/lineitems", "users.png": "/docs/types/users", "messages.png": "/docs/messages",
		"message.png": "/docs/messages/error.property.required",
	} {
		if err := chromedp.Do(ctx, chromedp.Navigate(s.URL+path), chromedp.WaitVisible(chromedp.CSS("h1"))); err != nil {
			t.Fatal(path, err)
		}
		fits(t, ctx)
		screenshot(t, ctx, name)
	}
	if foreign := seen.foreign(s.URL); len(foreign) > 0 {
		t.Errorf("the pages ask for %v", foreign)
	}
}
