package integration

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/integration/process"
	"marquee/integration/service"
)

// referencePlaces are the places of a type where an object of another network could be
// named: pointers, with the type that is referred to. [] is an item.
func referencePlaces(of *schema.Type) map[string]string {
	places := map[string]string{}
	var walk func(at string, shape *document.Shape, depth int)
	walk = func(at string, shape *document.Shape, depth int) {
		if shape == nil || depth > 8 || shape.ReadOnly {
			return
		}
		if shape.Ref != nil {
			places[at] = shape.Ref.Type
			return
		}
		for name, member := range shape.Properties {
			walk(at+"/"+name, member, depth+1)
		}
		walk(at+"/[]", shape.Element, depth+1)
	}
	walk("", of.Shape, 0)
	return places
}

// placedAt is an object that has a value at a place.
func placedAt(place string, value any) map[string]any {
	parts := strings.Split(strings.TrimPrefix(place, "/"), "/")
	for _, part := range slices.Backward(parts) {
		if part == "[]" {
			value = []any{value}
		} else {
			value = map[string]any{part: value}
		}
	}
	return value.(map[string]any)
}

// TestForeignReferences names an object of another network at every place of
// every schema that can name one, targeting included: for every caller and each way
// to write, the answer has the same words as for an object that does not exist.
func TestForeignReferences(t *testing.T) { service.EachStore(t, testForeignReferences) }

func testForeignReferences(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	m := newMatrix(t, fresh)
	tried := 0
	for _, of := range m.Service.Engine.Registry().Types() {
		if !of.Writable() || of.Parent != "" {
			continue
		}
		places := referencePlaces(of)
		for _, place := range slices.Sorted(maps.Keys(places)) {
			to, err := m.Service.Engine.Type(places[place])
			if err != nil || to.Global || of.Name == "users" {
				continue // users name roles of any network; below
			}
			alien := "alien"
			if to.Parent != "" {
				continue
			}
			if key := "other " + to.Name + " alien"; !m.made[key] {
				m.made[key] = true
				object := m.sample(to, alien, "other")
				object["id"] = alien
				m.write(to.Name, "other", object)
			}
			refused := func(id string, where int) string {
				object := m.sample(of, "new", service.Network)
				maps.Copy(object, placedAt(place, id))
				path, body := "/api/v1/"+of.Name+"/new?context=main&validateOnly=true", service.JSONText(object)
				switch object["id"] = "new"; where {
				case 1:
					path, body = "/api/v1/"+of.Name+"?context=main", "["+service.JSONText(object)+"]"
				case 2:
					path, body = "/api/v1/batch?context=main", service.JSONText(map[string]any{"operations": []any{map[string]any{"type": of.Name, "object": object}}})
				}
				a := m.Service.Ask(m.Token, "POST", path, body, nil)
				if a.Status != 422 || !strings.Contains(string(a.Body), `"error.referenced.object.not.found"`) {
					t.Errorf("%s at %s of %s: %d %.500s", id, place, of.Name, a.Status, a.Body)
				}
				return strings.ReplaceAll(string(a.Body), id, "ID")
			}
			for where := range 3 {
				if a, b := refused(alien, where), refused("nobody", where); a != b {
					t.Errorf("at %s of %s, an object of another network is refused with %s, and none with %s", place, of.Name, a, b)
				}
				tried++
			}
		}
	}
	t.Logf("%d references", tried)
	if tried < 100 {
		t.Errorf("only %d references were tried", tried)
	}
}

// TestForeignIDs names objects of another network in every other position: the
// path, id=, where and filterBy, a cursor, the history, a parent, userRoles, a
// search, an upload. It is as if they were nowhere.
func TestForeignIDs(t *testing.T) { service.EachStore(t, testForeignIDs) }

func testForeignIDs(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/networks/other", `{"name": "Other"}`, 201, "")
	objects := `{"operations": [
		{"type": "teams", "object": {"id": "%[1]s-team", "name": "%[1]s"}}, {"type": "roles", "object": {"id": "%[1]s-role", "name": "%[1]s", "scope": "NETWORK"}},
		{"type": "sites", "object": {"id": "%[1]s-site", "name": "%[1]s"}}, {"type": "layouts", "object": {"id": "%[1]s-layout", "name": "%[1]s", "html": "<p></p>"}},
		{"type": "advertisers", "object": {"id": "%[1]s-advertiser", "name": "%[1]s"}}, {"type": "orders", "object": {"id": "%[1]s-order", "name": "%[1]s", "advertiser": "%[1]s-advertiser"}},
		{"type": "creatives", "object": {"id": "%[1]s-creative", "name": "%[1]s", "layout": "%[1]s-layout", "dimensionType": "FLEXIBLE", "verifiedSafe": true}},
		{"type": "articles", "object": {"id": "%[1]s-article", "url": "https://example.com/", "title": "one station", "language": "en", "site": "%[1]s-site"}},
		{"type": "orders", "object": {"id": "same", "name": "%[1]s", "advertiser": "%[1]s-advertiser"}}]}`
	c.Send("POST", "/api/v1/batch?context=other", fmt.Sprintf(objects, "alien"), 200, "")
	c.Send("POST", "/api/v1/batch?context=main", fmt.Sprintf(objects, "own"), 200, "")
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "all", "name": "All", "scope": "NETWORK", "permissions": ["MANAGE_BUSINESS", "MANAGE_SYSTEM", "MANAGE_LAYOUTS"]}},
		{"type": "users", "object": {"id": "eve", "username": "eve", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "all"}]}]}}},
		{"type": "users", "object": {"id": "kari", "username": "kari", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "own-role"}]}]}}}]}`, 200, "")
	foreign := c.Send("GET", "/api/v1/orders?context=other&pageSize=1", "", 200, "").JSON().(map[string]any)
	foreignHistory := c.Send("GET", "/api/v1/audit?context=other&pageSize=1", "", 200, "").JSON().(map[string]any)
	var err error
	if c.Token, err = c.Service.SignIn("eve"); err != nil {
		t.Fatal(err)
	}
	none := `{"totalCount": 0, "results": []}`
	for _, id := range []string{"alien", "nobody"} { // an object of another network is reported as one that does not exist
		for _, r := range []struct {
			method, path, body string
			status             int
			pattern            string
		}{
			{"GET", "/api/v1/orders/" + id + "-order?context=main", "", 404, ""},
			{"HEAD", "/api/v1/orders/" + id + "-order?context=main", "", 404, ""},
			{"GET", "/api/v1/orders/" + id + "-order?context=other", "", 403, `{"messages": [{"code": "error.network.forbidden"}]}`},
			{"PUT", "/api/v1/orders/" + id + "-order?context=other", `{"name": "taken"}`, 403, `{"messages": [{"code": "error.network.forbidden"}]}`},
			{"POST", "/api/v1/orders?context=other", `[{"id": "` + id + `-order", "name": "taken"}]`, 403, ""},
			{"GET", "/api/v1/orders?context=other&id=" + id + "-order", "", 403, ""},
			{"GET", "/api/v1/orders?context=main&id=" + id + "-order", "", 200, none},
			{"GET", "/api/v1/orders?context=main&where=" + url.QueryEscape("id="+id+"-order"), "", 200, none},
			{"GET", "/api/v1/orders?context=main&where=" + url.QueryEscape("advertiser="+id+"-advertiser"), "", 200, none},
			{"GET", "/api/v1/orders?context=main&where=" + url.QueryEscape("network="+id), "", 200, none},
			{"GET", "/api/v1/orders?context=main&where=" + url.QueryEscape("network=other"), "", 200, none},
			{"GET", "/api/v1/orders?context=main&filterBy=advertiser&filterByValue=" + id + "-advertiser", "", 200, none},
			{"GET", "/api/v1/orders?context=main&filterBy=id&filterByLike=" + id, "", 200, none},
			{"GET", "/api/v1/orders?context=main&q=" + id, "", 200, none},
			{"GET", "/api/v1/audit?context=main&type=orders&id=" + id + "-order", "", 404, ""},
			{"GET", "/api/v1/audit?context=other&type=orders&id=" + id + "-order", "", 403, ""},
			{"GET", "/api/v1/notifications?context=other", "", 403, ""},
			{"GET", "/api/v1/assets/" + id + "-creative?context=main", "", 404, ""},
			{"GET", "/api/v1/assets/" + id + "-creative/x?context=main", "", 404, ""},
			{"POST", "/api/v1/batch?context=other", `{"operations": [{"type": "orders", "object": {"id": "` + id + `-order", "name": "taken"}}]}`, 403, ""},
			{"POST", "/api/v1/segments/upload?context=other", `[]`, 403, ""},
			{"POST", "/api/v1/segments/upload?context=main", `[{"segmentId": "s", "name": "S", "dataSource": "ADOBE", "team": "` + id + `-team"}]`, 422, ""},
			{"POST", "/api/v1/segments/upload?context=main", `[{"segmentId": "s", "name": "S", "dataSource": "ADOBE", "teams": ["own-team", "` + id + `-team"]}]`, 422, ""},
			{"POST", "/api/v1/batch?context=main", `{"operations": [{"type": "orders", "object": {"name": "x", "network": "other", "advertiser": "` + id + `-advertiser"}}]}`, 422, ""},
			{"PUT", "/api/v1/users/kari", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "` + id + `-role"}]}]}}`, 422, ""},
			{"PUT", "/api/v1/users/kari", `{"userRoles": {"rolesByNetwork": [{"network": "` + id + `", "roles": [{"role": "alien-role"}]}]}}`, 0, ""},
			{"PUT", "/api/v1/users/kari", `{"userRoles": {"rolesByNetwork": [{"network": "other", "roles": [{"role": "` + id + `-role"}]}]}}`, 403, ""},
			{"POST", "/api/v1/targetingquery/articles2?context=other&pageSize=9&thresholdScore=0.01&sentence=station", "", 403, ""},
			{"POST", "/api/v1/targetingquery/articles2?context=main&pageSize=9&thresholdScore=0.01&sentence=station", `{"siteTarget": {"sites": ["` + id + `-site"]}}`, 422, ""},
			{"GET", "/api/v1/networks/other", "", 404, ""},
			{"PUT", "/api/v1/networks/other", `{"name": "taken"}`, 404, ""},
		} {
			before, err := c.Service.Camera.Picture()
			if err != nil {
				t.Fatal(err)
			}
			a := c.Service.Ask(c.Token, r.method, r.path, r.body, nil)
			if r.status != 0 && a.Status != r.status || a.Status >= 500 || r.status == 0 && a.Status < 400 {
				t.Errorf("%s %s %s: %d, not %d: %.400s", r.method, r.path, r.body, a.Status, r.status, a.Body)
			}
			if r.pattern != "" {
				pattern, _ := service.Decode([]byte(r.pattern))
				for _, wrong := range service.Match(pattern, a.JSON(), "", nil) {
					t.Errorf("%s %s: %s", r.method, r.path, wrong)
				}
			}
			if after, err := c.Service.Camera.Picture(); err != nil || after != before {
				t.Errorf("%s %s %s: the store is not as before: %v", r.method, r.path, r.body, err)
			}
		}
	}
	// One id in both networks: the other one is left alone.
	c.Send("PUT", "/api/v1/orders/same?context=main", `{"description": "of main"}`, 200, `{"name": "own", "advertiser": {"id": "own-advertiser"}}`)
	c.Send("POST", "/api/v1/targetingquery/articles2?context=main&pageSize=9&thresholdScore=0.01&sentence=station", "", 200, `{"totalCount": 1, "results": [{"id": "own-article"}]}`)
	// A cursor carries no network with it.
	for path, cursor := range map[string]any{"/api/v1/orders?context=main": foreign["nextCursor"], "/api/v1/audit?context=main": foreignHistory["nextCursor"]} {
		a := c.Service.Ask(c.Token, "GET", path+"&pageSize=100&cursor="+url.QueryEscape(fmt.Sprint(cursor)), "", nil)
		if a.Status != 200 && a.Status != 400 || strings.Contains(string(a.Body), "alien") {
			t.Errorf("%s with a cursor of another network: %d %s", path, a.Status, a.Body)
		}
	}
	c.Token, _ = c.Service.SignIn(service.Admin)
	c.Send("GET", "/api/v1/orders/same?context=other", "", 200, `{"name": "alien", "description": "<absent>"}`)
}
