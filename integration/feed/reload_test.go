package feed

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"marquee/integration/service"
)

// TestFeedBesideReload checks that streams and requests that wait are reset by a reload which
// renames a type, removes or hides a property, or hides a type, and that nothing in the old form, and
// nothing hidden, is sent from then on: of a removed property, only what the history shows.
func TestFeedBesideReload(t *testing.T) { service.EachStore(t, testFeedBesideReload) }

func testFeedBesideReload(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	nora, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	c.Send("PUT", "/api/v1/wards/a?context=main", `{"text": "the first", "team": "north"}`, http.StatusCreated, "")
	const feed = "/api/v1/changes?context=main&type=wards"
	for _, change := range []struct {
		name, resource, text  string
		shows, inPast, unseen bool
	}{
		{name: "a renamed type", text: `, "text": {"type": "string"}`, shows: true, inPast: true},
		{name: "a removed property", inPast: true},
		{name: "a property with a permission", text: `, "text": {"type": "string", "x-readable": "SEE_TEXTS"}`},
		{name: "a secret", text: `, "text": {"type": "string", "x-secret": true}`},
		{name: "a type with a permission", resource: `, "permissions": {"read": "SEE_UNITS"}`, text: `, "text": {"type": "string", "x-secret": true}`, unseen: true},
	} {
		position := positionOf(c, nora)
		answer := asks(c, c.Service, nora, position)
		o := open(t, c.Service, nora, "&type=wards&include=object&after="+url.QueryEscape(position), "")
		o.next("bookmark")
		set := service.TypeWith("units", `, "was": "wards", "team": "team", "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`+change.resource,
			`"team": {"x-ref": "teams"}, "note": {"type": "string"}`+change.text)
		if err := c.Service.Swap(c.Service.Engine, set); err != nil {
			t.Fatalf("%s: %v", change.name, err)
		}
		c.Send("POST", "/api/v1/units/a?context=main", `{"text": "after `+change.name+`", "note": "`+change.name+`"}`, http.StatusOK, "")
		o.next("reset")
		o.next("end")
		if a := within(c, answer); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"reset":"RIGHTS_CHANGED"`) {
			t.Errorf("%s: %d %s", change.name, a.Status, a.Body)
		}
		if change.unseen {
			if a := c.Service.Ask(nora, http.MethodGet, feed, "", nil); a.Status != http.StatusNotFound && a.Status != http.StatusBadRequest && a.Status != http.StatusForbidden {
				t.Errorf("%s: %d %s", change.name, a.Status, a.Body)
			}
			continue
		}
		for _, include := range []string{"object", "changes"} {
			a := c.Service.Ask(nora, http.MethodGet, feed+"&after=begin&include="+include, "", nil)
			body := string(a.Body)
			if a.Status != http.StatusOK || strings.Contains(body, `"wards"`) || !strings.Contains(body, `"type":"units"`) ||
				strings.Contains(body, "after "+change.name) != change.shows || strings.Contains(body, "the first") != (change.inPast && include == "changes") {
				t.Errorf("%s, with %s: %d %s", change.name, include, a.Status, a.Body)
			}
		}
	}
}
