package integration

import (
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
	for _, path := range []string{"/docs/none.js", "/docs/index.html.gz", "/docs/%2e%2e%2fpage.go", "/docs/swagger-ui.css.gz"} {
		if a := s.ask("", http.MethodGet, path, "", nil); a.status != http.StatusNotFound || !strings.Contains(string(a.body), "error.path.unknown") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := s.ask("", http.MethodPost, "/docs", "{}", nil); a.status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", a.status)
	}
}
