package integration

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"marquee"
	"marquee/engine/rest"
	"marquee/integration/service"
)

// TestHomePage follows each link of the page that browsers find without the console.
func TestHomePage(t *testing.T) {
	t.Parallel()
	s := service.StartNew(&service.Service{TB: t, URI: service.NewSQLite(t), Schemas: []fs.FS{service.TypeWith("places", ``, `"name": {"type": "string", "description": "<b>"}`)},
		Configure: func(o *marquee.Options) { o.NoConsole = true }})
	page := s.Ask("", http.MethodGet, "/", "", http.Header{"Accept": {"text/html"}})
	for name, want := range map[string]string{"Content-Type": "text/html; charset=utf-8",
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"} {
		if got := page.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if a := s.Ask("", http.MethodGet, "/", "", http.Header{"Accept": {"text/html"}, "If-None-Match": {page.Header.Get("ETag")}}); a.Status != http.StatusNotModified {
		t.Errorf("the page is sent again: %d", a.Status)
	}
	if a := s.Ask("", http.MethodGet, "/", "", nil); strings.Contains(string(a.Body), "console") {
		t.Errorf("programs learn of a console: %s", a.Body)
	}
	if a := s.Ask("", http.MethodGet, "/console/", "", nil); a.Status != http.StatusNotFound {
		t.Errorf("/console/ is answered: %d", a.Status)
	}
	links := regexp.MustCompile(`href="(/[^"]*)"`).FindAllStringSubmatch(string(page.Body), -1)
	found := map[string]bool{}
	for _, link := range links {
		found[link[1]] = true
		if a := s.Ask("", http.MethodGet, link[1], "", nil); a.Status != http.StatusOK {
			t.Errorf("%s: %d", link[1], a.Status)
		}
	}
	for _, path := range []string{"/docs", "/docs/messages", "/api/openapi.json", "/healthz", "/docs/types/orders", "/docs/types/places"} {
		if !found[path] {
			t.Errorf("there is no link to %s", path)
		}
	}
	if strings.Contains(string(page.Body), "<script") {
		t.Error("the page has scripts")
	}
}

// TestHomeOfAnApplication: an application can have a page of its own at /.
func TestHomeOfAnApplication(t *testing.T) {
	t.Parallel()
	home := rest.Route{Path: "/", Methods: []string{http.MethodGet}, Public: true, Serve: func(r *rest.Call) error {
		r.Send(http.StatusOK, "text/plain", []byte("mine"))
		return nil
	}}
	s := service.StartNew(&service.Service{TB: t, URI: service.NewSQLite(t), Plain: &marquee.Application{Routes: []rest.Route{home}}})
	if a := s.Ask("", http.MethodGet, "/", "", nil); a.Status != http.StatusOK || string(a.Body) != "mine" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
