package integration

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"marquee"
	"marquee/engine/rest"
	"marquee/integration/service"
)

// TestHomePage follows each link of the page for browsers.
func TestHomePage(t *testing.T) {
	t.Parallel()
	s := service.New(t, service.NewSQLite, service.TypeWith("places", ``, `"name": {"type": "string", "description": "<b>"}`))
	page := s.Ask("", http.MethodGet, "/", "", http.Header{"Accept": {"text/html"}})
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
