package integration

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
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
			Name         string
			ExternalDocs struct{ URL string }
		}
	}
	if err := json.Unmarshal(s.ask("", http.MethodGet, "/api/openapi.json", "", nil).body, &document); err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, tag := range document.Tags {
		address := tag.ExternalDocs.URL
		if address == "" {
			continue
		}
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
		"/docs/types/coupons": {"<code>PENDING</code>: <code>PUBLISHED</code>, <code>STOPPED</code>", "error.coupon.published", "<code>validFrom &lt; validTo</code>", "read-only",
			"string (date-time)", "one of PENDING, PUBLISHED, STOPPED", "from 1 to 255 characters", "array of string", "each item: one of SIGN_UP, CAMPAIGN_CREATION",
			"<code>discountMonetary.amount</code>", "string (currency)",
			`<a href="/docs/types/places">places</a>: <code>coupon</code>`},
		"/docs/types/lineitems": {"warning.line.item.no.order", `reference to <a href="/docs/types/orders">`, "<code>order.team</code>"},
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
