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
	"marquee/integration/service"
)

// TestDocumentationPage asks for the page that shows the API, and for all that it loads:
// nothing comes from elsewhere, and nothing is shown by another site.
func TestDocumentationPage(t *testing.T) {
	t.Parallel()
	s := service.New(t, service.NewSQLite)
	page := s.Ask("", http.MethodGet, "/docs", "", nil)
	if page.Status != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %v", page.Status, page.Header)
	}
	policy := page.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy %q lacks %s", policy, part)
		}
	}
	found := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(page.Body), -1)
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
		a := s.Ask("", http.MethodGet, address, "", nil)
		want := map[bool]string{true: "text/javascript", false: "text/css"}[strings.HasSuffix(address, ".js")]
		if strings.HasSuffix(address, ".json") {
			want = "application/json"
		}
		if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), want) || len(a.Body) < 100 {
			t.Errorf("%s: %d %v", address, a.Status, a.Header)
		}
		again := s.Ask("", http.MethodGet, address, "", http.Header{"If-None-Match": {a.Header.Get("ETag")}})
		if again.Status != http.StatusNotModified {
			t.Errorf("%s again: %d", address, again.Status)
		}
		loaded++
	}
	if loaded != 5 {
		t.Errorf("the page refers to %d addresses", loaded)
	}
	if strings.Contains(string(page.Body), "<script>") || strings.Contains(string(page.Body), "onload=") {
		t.Error("the page has scripts in it, which its policy forbids")
	}
	for _, path := range []string{"/docs/types", "/docs/none.js", "/docs/index.html.gz", "/docs/%2e%2e%2fpage.go", "/docs/swagger-ui.css.gz"} {
		if a := s.Ask("", http.MethodGet, path, "", nil); a.Status != http.StatusNotFound || !strings.Contains(string(a.Body), "error.path.unknown") {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	if a := s.Ask("", http.MethodPost, "/docs", "{}", nil); a.Status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", a.Status)
	}
}

// TestTypePages asks for the page of each type, to which the document links, and for that
// of a type that was dropped in, whose texts are no HTML.
func TestTypePages(t *testing.T) {
	t.Parallel()
	dropped := service.TypeWith("places", `, "unique": ["name"], "owner": "keeper"}, "x-exclusive": [{"properties": ["name", "floor"], "from": "begin", "to": "end"}], "$defs": {"a": true`, `"floor": {"type": "integer"}, "begin": {"type": "integer"}, "end": {"type": "integer"}, "name": {"type": "string", "description": "<script>alert(1)</script>"}, "coupon": {"x-ref": "coupons"}, "keeper": {"x-ref": "users"}`)
	s := service.New(t, service.NewSQLite, dropped)
	var document struct {
		Tags []struct {
			Name        string
			Description string
		}
	}
	if err := json.Unmarshal(s.Ask("", http.MethodGet, "/api/openapi.json", "", nil).Body, &document); err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, tag := range document.Tags {
		_, link, found := strings.Cut(tag.Description, "[Rules and references](")
		if !found {
			continue
		}
		address, _, _ := strings.Cut(link, ")")
		a := s.Ask("", http.MethodGet, address, "", nil)
		pages[address] = string(a.Body)
		if a.Status != http.StatusOK || !strings.Contains(pages[address], "<h1>"+html.EscapeString(tag.Name)+"</h1>") {
			t.Errorf("%s: %d", address, a.Status)
		}
		if again := s.Ask("", http.MethodGet, address, "", http.Header{"If-None-Match": {a.Header.Get("ETag")}}); again.Status != http.StatusNotModified {
			t.Errorf("%s again: %d", address, again.Status)
		}
	}
	if len(pages) != len(s.Engine.Registry().Types()) {
		t.Errorf("%d pages", len(pages))
	}
	for address, parts := range map[string][]string{
		"/docs/types/coupons": {"<code>PENDING</code>: <code>PUBLISHED</code>, <code>STOPPED</code>", "a new object may have any value", "error.coupon.published", "<code>validFrom &lt; validTo</code>", "read-only",
			"string (date-time)", "one of PENDING, PUBLISHED, STOPPED", "from 1 to 255 characters", "array of string", "each item: one of SIGN_UP, CAMPAIGN_CREATION",
			"<code>discountMonetary.amount</code>", "string (currency)",
			`<a href="/docs/types/places">places</a>: <code>coupon</code>`},
		"/docs/types/lineitems": {"warning.line.item.no.order", "<dd>GET, HEAD, POST, PUT, PATCH</dd>", `reference to <a href="/docs/types/orders">`, "<code>order.team</code>"},
		"/docs/types/users":     {"never returned", "MANAGE_SYSTEM", "<code>context</code> is optional"},
		"/docs/types/places": {"&lt;script&gt;alert(1)&lt;/script&gt;", "<dt>Unique</dt><dd><code>name</code>", "An object belongs to the user at <code>keeper</code>.",
			"<li><code>floor</code>, <code>name</code> from <code>begin</code> to <code>end</code></li>"},
	} {
		for _, part := range parts {
			if !strings.Contains(pages[address], part) {
				t.Errorf("%s lacks %s", address, part)
			}
		}
	}
	if a := s.Ask("", http.MethodGet, "/docs/types/unknown", "", nil); a.Status != http.StatusNotFound || !strings.Contains(string(a.Body), "error.type.unknown") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestPageOfUnknownTarget asks for the page of a type that refers to a renamed one, of which
// somebody who may not read it learns no name, and the others the present one.
func TestPageOfUnknownTarget(t *testing.T) {
	t.Parallel()
	s := service.New(t, service.NewSQLite,
		service.TypeWith("records", `, "was": "charts", "permissions": {"read": "READ_CHARTS", "write": "MANAGE_CHARTS"}`, `"name": {"type": "string"}`),
		service.TypeWith("visits", "", `"target": {"x-ref": "records"}`))
	page := string(s.Ask("", http.MethodGet, "/docs/types/visits", "", nil).Body)
	if !strings.Contains(page, "<code>target</code>") || strings.Contains(page, "records") || strings.Contains(page, "charts") {
		t.Errorf("without a token, the page has %s", page)
	}
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	page = string(s.Ask(token, http.MethodGet, "/docs/types/visits?mine=true", "", nil).Body)
	if !strings.Contains(page, `<a href="/docs/types/records">records</a>`) || strings.Contains(page, "charts") {
		t.Errorf("for the administrator, the page has %s", page)
	}
}

// TestMessagePages asks for the page of each message, to which problems refer, and for
// that of a message whose text is no HTML.
func TestMessagePages(t *testing.T) {
	t.Parallel()
	dropped := fstest.MapFS{"places.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Place <b>", "x-resource": {"path": "places"}, "type": "object",
		"properties": {"name": {"type": "string"}}, "x-warnings": [{"code": "warning.place.odd", "text": "<script>alert(1)</script> & {{field}}", "field": "/name", "when": {"required": ["name"]}}]}`)}}
	s := service.New(t, service.NewSQLite, dropped)
	index := s.Ask("", http.MethodGet, "/docs/messages", "", nil)
	for _, d := range s.Engine.Registry().Catalogue().All() {
		path := rest.MessagePage(d.Code)
		if !strings.Contains(string(index.Body), `<a href="`+path+`">`) {
			t.Errorf("the list lacks %s", path)
		}
		a := s.Ask("", http.MethodGet, path, "", nil)
		body := string(a.Body)
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %v", path, a.Status, a.Header)
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
		if again := s.Ask("", http.MethodGet, path, "", http.Header{"If-None-Match": {a.Header.Get("ETag")}}); again.Status != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.Status)
		}
	}
	odd := s.Ask("", http.MethodGet, "/docs/messages/warning.place.odd", "", nil)
	for _, part := range []string{"&lt;script&gt;alert(1)&lt;/script&gt; &amp; {{field}}", `<a href="/docs/types/places">Place &lt;b&gt;</a>`} {
		if !strings.Contains(string(odd.Body), part) || strings.Contains(string(odd.Body), "<script") {
			t.Errorf("the page lacks %s, or has scripts: %s", part, odd.Body)
		}
	}
	for _, page := range []*service.Answer{index, odd} {
		policy := page.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self'; img-src data:;") || strings.Contains(policy, "script-src") {
			t.Errorf("the policy is %q", policy)
		}
		for _, match := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(page.Body), -1) {
			address := match[1]
			if address == "data:," || strings.HasPrefix(address, "#") || strings.HasPrefix(address, rest.MessagePage("")) {
				continue
			}
			if a := s.Ask("", http.MethodGet, address, "", nil); !strings.HasPrefix(address, "/docs") || a.Status != http.StatusOK {
				t.Errorf("the page refers to %s: %d", address, a.Status)
			}
		}
	}
	const unknown = "/docs/messages/error.%3Cscript%3E"
	browser := http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}}
	if a := s.Ask("", http.MethodGet, unknown, "", browser); a.Status != http.StatusNotFound || !strings.Contains(string(a.Body), "error.&lt;script&gt;") || a.Header.Get("Vary") == "" {
		t.Errorf("an unknown code: %d %v %s", a.Status, a.Header, a.Body)
	}
	if a := s.Ask("", http.MethodGet, unknown, "", nil); a.Status != http.StatusNotFound || !strings.Contains(string(a.Body), "error.path.unknown") {
		t.Errorf("an unknown code, for a program: %d %s", a.Status, a.Body)
	}
	if a := s.Ask("", http.MethodPost, "/docs/messages/error.path.unknown", "{}", nil); a.Status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", a.Status)
	}
}
