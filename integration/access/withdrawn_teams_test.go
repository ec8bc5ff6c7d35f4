package access

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// TestWithdrawnTeams takes what a team or a role of scope TEAM shows from a user while the
// user's requests run: in the middle of a body, and between the pages of a list. What comes
// after the answer to that is as if the objects did not exist.
func TestWithdrawnTeams(t *testing.T) { service.EachStore(t, testWithdrawnTeams) }

func testWithdrawnTeams(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "sites", "object": {"id": "s", "name": "S"}},
		{"type": "sites", "object": {"id": "r", "name": "R"}},
		{"type": "roles", "object": {"id": "seller", "name": "Seller", "permissions": ["MANAGE_BUSINESS"], "sites": ["r"]}},
		{"type": "users", "object": {"id": "eve", "username": "eve", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "seller"}]}]}}},
		{"type": "teams", "object": {"id": "ours", "name": "Ours", "users": ["eve"], "sites": ["s"]}},
		{"type": "teams", "object": {"id": "theirs", "name": "Theirs"}},
		{"type": "advertisers", "object": {"id": "a", "name": "A", "team": "ours"}},
		{"type": "orders", "object": {"id": "o", "name": "O", "advertiser": "a"}},
		{"type": "lineitems", "object": {"id": "li", "name": "L", "order": "o"}},
		{"type": "segments", "object": {"id": "seg", "name": "S", "dataSource": "ADOBE", "team": "ours"}},
		{"type": "layouts", "object": {"id": "l", "name": "L", "html": "<p></p>"}},
		{"type": "creatives", "object": {"id": "c", "name": "C", "layout": "l", "dimensionType": "FLEXIBLE", "verifiedSafe": true, "lineItem": "li"}},
		{"type": "adunits", "object": {"id": "us", "name": "U", "site": "s"}},
		{"type": "adunits", "object": {"id": "ur", "name": "U", "site": "r"}}]}`, 200, "")
	c.Send("POST", "/api/v1/orders?context=main", `[`+strings.Repeat(`{"name": "O", "advertiser": "a"},`, 9)+`{"name": "O", "advertiser": "a"}]`, 200, "")
	c.Send("POST", "/api/v1/adunits?context=main", `[`+strings.Repeat(`{"name": "U", "site": "s"},{"name": "U", "site": "r"},`, 4)+`{"name": "U", "site": "r"}]`, 200, "")
	eve, err := c.Service.SignIn("eve")
	if err != nil {
		t.Fatal(err)
	}
	contentType, file := service.Form("a.png", assettest.PNG(3, 3))
	type write struct{ path, contentType, body string }
	inTeam := []write{
		{"/api/v1/orders/o", "", `{"name": "late"}`},
		{"/api/v1/orders/late", "", `{"name": "late", "advertiser": "a"}`},
		{"/api/v1/lineitems", "", `[{"id": "li", "name": "late"}]`},
		{"/api/v1/batch", "", `{"operations": [{"type": "lineitems", "object": {"name": "late"}}, {"type": "creatives", "object": {"id": "c", "name": "late"}}]}`},
		{"/api/v1/segments/upload", "", `[{"segmentId": "seg", "name": "late", "dataSource": "ADOBE"}]`},
		{"/api/v1/assets/c/late", contentType, string(file)},
	}
	onSite := func(site string) []write {
		return []write{
			{"/api/v1/adunits/u" + site, "", `{"name": "late"}`},
			{"/api/v1/sites/" + site, "", `{"name": "late"}`},
			{"/api/v1/adunits/late", "", `{"name": "late", "site": "` + site + `"}`},
		}
	}
	for _, way := range []struct {
		name, path, take, give, list string
		writes                       []write
	}{
		{"the membership", "/api/v1/teams/ours?context=main", `{"users": []}`, `{"users": ["eve"]}`, "orders", append(inTeam, onSite("s")...)},
		{"the team's state", "/api/v1/teams/ours?context=main", `{"objectState": "INACTIVE"}`, `{"objectState": "ACTIVE"}`, "orders", append(inTeam, onSite("s")...)},
		{"the team of the advertiser", "/api/v1/advertisers/a?context=main", `{"team": "theirs"}`, `{"team": "ours"}`, "orders", inTeam[:4]},
		{"a site of the team", "/api/v1/teams/ours?context=main", `{"sites": []}`, `{"sites": ["s"]}`, "adunits", onSite("s")},
		{"a site of the role", "/api/v1/roles/seller?context=main", `{"sites": []}`, `{"sites": ["r"]}`, "adunits", onSite("r")},
	} {
		t.Run(way.name, func(t *testing.T) {
			set := func(body string) {
				t.Helper()
				c.Service.Must(c.Token, http.MethodPut, way.path, body, http.StatusOK)
			}
			for _, w := range way.writes {
				reader, writer := io.Pipe()
				go func() {
					half := len(w.body) / 2
					io.WriteString(writer, w.body[:half])
					set(way.take)
					io.WriteString(writer, w.body[half:])
					writer.Close()
				}()
				header := http.Header{"Authorization": {"Bearer " + eve}, "Content-Type": {"application/json"}}
				if w.contentType != "" {
					header.Set("Content-Type", w.contentType)
				}
				a, err := c.Service.Send(http.MethodPut, w.path+"?context=main", header, reader)
				if err != nil {
					t.Fatal(err)
				}
				if a.Status != 404 && a.Status != 422 { // as of what does not exist
					t.Errorf("%s, whose sender lost the right in the middle of the body: %d: %.300s", w.path, a.Status, a.Body)
				}
				set(way.give)
				c.Follow()
			}
			for _, name := range []string{"orders", "lineitems", "creatives", "segments", "adunits", "sites", "assets/c"} {
				if a := c.Service.Ask(c.Token, http.MethodGet, "/api/v1/"+name+"?context=main&pageSize=1000", "", nil); a.Status != 200 || strings.Contains(string(a.Body), "late") {
					t.Errorf("%s: %d %s", name, a.Status, a.Body)
				}
			}
			list := "/api/v1/" + way.list + "?context=main&pageSize=2"
			next := list + "&cursor=" + url.QueryEscape(fmt.Sprint(c.Service.Must(eve, http.MethodGet, list, "", 200)["nextCursor"]))
			history := "/api/v1/audit?context=main&pageSize=1000"
			all := c.Service.Must(eve, http.MethodGet, list, "", 200)["totalCount"]
			entries := c.Service.Must(eve, http.MethodGet, history, "", 200)["totalCount"]
			set(way.take)
			page := c.Service.Must(eve, http.MethodGet, next, "", 200)
			for _, result := range page["results"].([]any) {
				c.Service.Must(eve, http.MethodGet, fmt.Sprintf("/api/v1/%s/%s?context=main", way.list, result.(map[string]any)["id"]), "", 200)
			}
			if left := c.Service.Must(eve, http.MethodGet, list, "", 200)["totalCount"]; fmt.Sprint(left) == fmt.Sprint(all) {
				t.Errorf("%v of %v are still listed", left, all)
			}
			if left := c.Service.Must(eve, http.MethodGet, history, "", 200)["totalCount"]; fmt.Sprint(left) == fmt.Sprint(entries) {
				t.Errorf("%v of %v entries of the history are still shown", left, entries)
			}
			set(way.give)
		})
	}
}
