package integration

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/rest"
)

// TestDocumentationPage asks for the page that shows the API, and for all that it loads:
// nothing comes from elsewhere, and nothing is shown by another site.
func TestDocumentationPage(t *testing.T) {
	t.Parallel()
	s := newService(t, newSQLite)
	page := s.ask("", http.MethodGet, "/docs", "", nil)
	if page.status != http.StatusOK || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %v", page.status, page.header)
	}
	policy := page.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q lacks %s", policy, part)
		}
	}
	found := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(page.body), -1)
	loaded := 0
	for _, match := range found {
		address := match[1]
		if address == "data:," {
			continue
		}
		if !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") {
			t.Errorf("the page refers to %s", address)
			continue
		}
		a := s.ask("", http.MethodGet, address, "", nil)
		want := map[bool]string{true: "text/javascript", false: "text/css"}[strings.HasSuffix(address, ".js")]
		if strings.HasSuffix(address, ".json") {
			want = "application/json"
		}
		if a.status != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), want) || len(a.body) < 100 {
			t.Errorf("%s: %d %v", address, a.status, a.header)
		}
		again := s.ask("", http.MethodGet, address, "", http.Header{"If-None-Match": {a.header.Get("ETag")}})
		if again.status != http.StatusNotModified {
			t.Errorf("%s again: %d", address, again.status)
		}
		loaded++
	}
	if loaded != 5 {
		t.Errorf("the page refers to %d addresses", loaded)
	}
	if strings.Contains(string(page.body), "<script>") || strings.Contains(string(page.body), "onload=") {
		t.Error("the page has scripts in it, which its policy forbids")
	}
	for _, path := range []string{"/docs/types", "/docs/none.js", "/docs/index.html.gz", "/docs/%2e%2e%2fpage.go", "/docs/swagger-ui.css.gz"} {
		if a := s.ask("", http.MethodGet, path, "", nil); a.status != http.StatusNotFound || !strings.Contains(string(a.body), "error.path.unknown") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := s.ask("", http.MethodPost, "/docs", "{}", nil); a.status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", a.status)
	}
}

// TestTypePages asks for the page of each type, to which the document links, and for that
// of a type that was dropped in, whose texts are no HTML.
func TestTypePages(t *testing.T) {
	t.Parallel()
	dropped := typeWith("places", `, "unique": ["name"]`, `"name": {"type": "string", "description": "<script>alert(1)</script>"}, "coupon": {"x-ref": "coupons"}`)
	s := newService(t, newSQLite, dropped)
	var document struct {
		Tags []struct {
			Name        string
			Description string
		}
	}
	if err := json.Unmarshal(s.ask("", http.MethodGet, "/api/openapi.json", "", nil).body, &document); err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, tag := range document.Tags {
		_, link, found := strings.Cut(tag.Description, "[Rules and references](")
		if !found {
			continue
		}
		address, _, _ := strings.Cut(link, ")")
		a := s.ask("", http.MethodGet, address, "", nil)
		pages[address] = string(a.body)
		if a.status != http.StatusOK || !strings.Contains(pages[address], "<h1>"+html.EscapeString(tag.Name)+"</h1>") {
			t.Errorf("%s: %d", address, a.status)
		}
		if again := s.ask("", http.MethodGet, address, "", http.Header{"If-None-Match": {a.header.Get("ETag")}}); again.status != http.StatusNotModified {
			t.Errorf("%s again: %d", address, again.status)
		}
	}
	if len(pages) != len(s.engine.Registry().Types()) {
		t.Errorf("%d pages", len(pages))
	}
	for address, parts := range map[string][]string{
		"/docs/types/coupons": {"<code>PENDING</code>: <code>PUBLISHED</code>, <code>STOPPED</code>", "a new object may have any value", "error.coupon.published", "<code>validFrom &lt; validTo</code>", "read-only",
			"string (date-time)", "one of PENDING, PUBLISHED, STOPPED", "from 1 to 255 characters", "array of string", "each item: one of SIGN_UP, CAMPAIGN_CREATION",
			"<code>discountMonetary.amount</code>", "string (currency)",
			`<a href="/docs/types/places">places</a>: <code>coupon</code>`},
		"/docs/types/lineitems": {"warning.line.item.no.order", "<dd>GET, HEAD, POST, PUT, PATCH</dd>", `reference to <a href="/docs/types/orders">`, "<code>order.team</code>"},
		"/docs/types/users":     {"never returned", "MANAGE_SYSTEM", "<code>context</code> is optional"},
		"/docs/types/places":    {"&lt;script&gt;alert(1)&lt;/script&gt;", "<dt>Unique</dt><dd><code>name</code>"},
	} {
		for _, part := range parts {
			if !strings.Contains(pages[address], part) {
				t.Errorf("%s lacks %s", address, part)
			}
		}
	}
	if a := s.ask("", http.MethodGet, "/docs/types/unknown", "", nil); a.status != http.StatusNotFound || !strings.Contains(string(a.body), "error.type.unknown") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestMessagePages asks for the page of each message, to which problems refer, and for
// that of a message whose text is no HTML.
func TestMessagePages(t *testing.T) {
	t.Parallel()
	dropped := fstest.MapFS{"places.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Place <b>", "x-resource": {"path": "places"}, "type": "object",
		"properties": {"name": {"type": "string"}}, "x-warnings": [{"code": "warning.place.odd", "text": "<script>alert(1)</script> & {{field}}", "field": "/name", "when": {"required": ["name"]}}]}`)}}
	s := newService(t, newSQLite, dropped)
	index := s.ask("", http.MethodGet, "/docs/messages", "", nil)
	for _, d := range s.engine.Registry().Catalogue().All() {
		path := rest.MessagePage(d.Code)
		if !strings.Contains(string(index.body), `<a href="`+path+`">`) {
			t.Errorf("the list lacks %s", path)
		}
		a := s.ask("", http.MethodGet, path, "", nil)
		body := string(a.body)
		if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
		parts := []string{"<code>" + d.Code + "</code>", "<code>" + d.Type + "</code>", d.Text, d.Help()}
		if status := rest.Status(d.Kind); status != 0 {
			parts = append(parts, "<dd>"+strconv.Itoa(status)+" "+http.StatusText(status)+"</dd>")
		}
		for _, name := range d.Placeholders() {
			parts = append(parts, "<code>"+name+"</code>")
		}
		for _, part := range parts {
			if part == "" || !strings.Contains(body, part) && !strings.Contains(html.UnescapeString(body), part) {
				t.Errorf("%s lacks %q", path, part)
			}
		}
		if again := s.ask("", http.MethodGet, path, "", http.Header{"If-None-Match": {a.header.Get("ETag")}}); again.status != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.status)
		}
	}
	odd := s.ask("", http.MethodGet, "/docs/messages/warning.place.odd", "", nil)
	for _, part := range []string{"&lt;script&gt;alert(1)&lt;/script&gt; &amp; {{field}}", `<a href="/docs/types/places">Place &lt;b&gt;</a>`} {
		if !strings.Contains(string(odd.body), part) || strings.Contains(string(odd.body), "<script") {
			t.Errorf("the page lacks %s, or has scripts: %s", part, odd.body)
		}
	}
	for _, page := range []*answer{index, odd} {
		policy := page.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self'; img-src data:;") || strings.Contains(policy, "script-src") {
			t.Errorf("the policy is %q", policy)
		}
		for _, match := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(page.body), -1) {
			address := match[1]
			if address == "data:," || strings.HasPrefix(address, "#") || strings.HasPrefix(address, rest.MessagePage("")) {
				continue
			}
			if a := s.ask("", http.MethodGet, address, "", nil); !strings.HasPrefix(address, "/docs") || a.status != http.StatusOK {
				t.Errorf("the page refers to %s: %d", address, a.status)
			}
		}
	}
	const unknown = "/docs/messages/error.%3Cscript%3E"
	browser := http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}}
	if a := s.ask("", http.MethodGet, unknown, "", browser); a.status != http.StatusNotFound || !strings.Contains(string(a.body), "error.&lt;script&gt;") || a.header.Get("Vary") == "" {
		t.Errorf("an unknown code: %d %v %s", a.status, a.header, a.body)
	}
	if a := s.ask("", http.MethodGet, unknown, "", nil); a.status != http.StatusNotFound || !strings.Contains(string(a.body), "error.path.unknown") {
		t.Errorf("an unknown code, for a program: %d %s", a.status, a.body)
	}
	if a := s.ask("", http.MethodPost, "/docs/messages/error.path.unknown", "{}", nil); a.status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", a.status)
	}
}
