package integration

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"marquee"
	"marquee/engine/rest"
)

// TestHomePage follows each link of the page for browsers.
func TestHomePage(t *testing.T) {
	t.Parallel()
	s := newService(t, newSQLite, typeWith("places", ``, `"name": {"type": "string", "description": "<b>"}`))
	page := s.ask("", http.MethodGet, "/", "", http.Header{"Accept": {"text/html"}})
	links := regexp.MustCompile(`href="(/[^"]*)"`).FindAllStringSubmatch(string(page.body), -1)
	found := map[string]bool{}
	for _, link := range links {
		found[link[1]] = true
		if a := s.ask("", http.MethodGet, link[1], "", nil); a.status != http.StatusOK {
			t.Errorf("%s: %d", link[1], a.status)
		}
	}
	for _, path := range []string{"/docs", "/docs/messages", "/api/openapi.json", "/healthz", "/docs/types/orders", "/docs/types/places"} {
		if !found[path] {
			t.Errorf("there is no link to %s", path)
		}
	}
	if strings.Contains(string(page.body), "<script") {
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
	s := startNew(&service{tb: t, uri: newSQLite(t), plain: &marquee.Application{Routes: []rest.Route{home}}})
	if a := s.ask("", http.MethodGet, "/", "", nil); a.status != http.StatusOK || string(a.body) != "mine" {
		t.Errorf("%d %s", a.status, a.body)
	}
}
