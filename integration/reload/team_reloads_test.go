package reload

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"marquee/integration/service"
)

// halls is a folder with venues, which have a team, and halls, which belong to their
// venues' teams by some paths; "" is none.
func halls(paths string) fs.FS {
	resource := `, "permission": "MANAGE_BUSINESS"`
	folder := fstest.MapFS{}
	add := func(types fs.FS) { maps.Copy(folder, types.(fstest.MapFS)) }
	if paths == "" {
		add(service.TypeWith("venues", resource, `"name": {"type": "string"}, "team": {"x-ref": "teams"}`))
	} else {
		add(service.TypeWith("venues", resource+`, "team": "team"`, `"name": {"type": "string"}, "team": {"x-ref": "teams"}`))
		resource += `, "team": ` + paths
	}
	add(service.TypeWith("halls", resource, `"name": {"type": "string"}, "venue": {"x-ref": "venues"}, "team": {"x-ref": "teams"}`))
	return folder
}

var hallPaths = []string{`"venue.team"`, `["team", "venue.team"]`, `["venue.team", "team"]`}

// TestTeamMovesBesideReloads changes the path to the team of a type, so that its objects
// are indexed again, while the objects that they belong to move to other teams: nobody
// sees through the old team what another one has got, and in the end each team sees all
// of its objects.
func TestTeamMovesBesideReloads(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		testTeamMovesBesideReloads(t, []*service.Service{service.New(t, fresh, halls(""))})
	})
}

// TestServersMoveTeamsBesideReloads does the same through two servers.
func TestServersMoveTeamsBesideReloads(t *testing.T) {
	t.Parallel()
	servers, _ := service.NewServers(t, 2, halls(""))
	testTeamMovesBesideReloads(t, servers)
}

func testTeamMovesBesideReloads(t *testing.T, servers []*service.Service) {
	c := service.ConverseWith(t, servers[0])
	const venues, all = 4, 60
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "team", "name": "T"}},
		{"type": "users", "object": {"id": "anna", "username": "anna", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "team"}]}]}}},
		{"type": "teams", "object": {"id": "t1", "name": "One", "users": ["anna"]}}, {"type": "teams", "object": {"id": "t2", "name": "Two"}}]}`, 200, "")
	anna, err := servers[0].SignIn("anna")
	if err != nil {
		t.Fatal(err)
	}
	for i := range venues {
		c.Send("POST", fmt.Sprintf("/api/v1/venues/v%d?context=main", i), `{"name": "V", "team": "t1"}`, 201, "")
	}
	var body strings.Builder
	for i := range all {
		fmt.Fprintf(&body, `,{"id": "h%02d", "name": "H", "venue": "v%d"}`, i, i%venues)
	}
	c.Send("POST", "/api/v1/halls?context=main", "["+body.String()[1:]+"]", 200, "")

	seed := service.TestSeed(t)
	var done atomic.Bool
	var wait sync.WaitGroup
	put := func(s *service.Service, path, body string) {
		if a := s.Ask(c.Token, http.MethodPut, "/api/v1/"+path+"?context=main", body, nil); a.Status != http.StatusOK {
			t.Errorf("%s %s: %d %.300s", path, body, a.Status, a.Body)
		}
	}
	// Some halls, behind the first ones, change their venues and names all the time.
	wait.Go(func() {
		random := rand.New(rand.NewPCG(seed, 1))
		for n := 0; !done.Load() && !t.Failed(); n++ {
			hall := fmt.Sprintf("halls/h%02d", venues+random.IntN(all-venues))
			put(servers[random.IntN(len(servers))], hall, fmt.Sprintf(`{"name": "N%d", "venue": "v%d"}`, n, random.IntN(venues)))
		}
	})
	reload := func(paths string) {
		for _, s := range servers {
			if err := s.Swap(s.Engine, halls(paths)); err != nil {
				t.Fatalf("%s: %v", paths, err)
			}
		}
	}
	reload(hallPaths[0])
	for v := range venues {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(v)+2))
			venue, hall := fmt.Sprintf("venues/v%d", v), fmt.Sprintf("h%02d", v)
			for n := 0; !done.Load() && !t.Failed(); n++ {
				s := servers[random.IntN(len(servers))]
				put(s, venue, `{"team": "t2"}`)
				for range 3 {
					if a := s.Ask(anna, http.MethodGet, "/api/v1/halls/"+hall+"?context=main", "", nil); a.Status != http.StatusNotFound {
						t.Errorf("%s is seen through the team that %s had: %d %.300s", hall, venue, a.Status, a.Body)
					}
					if list := s.Must(anna, http.MethodGet, "/api/v1/halls?context=main&id="+hall, "", http.StatusOK); fmt.Sprint(list["totalCount"]) != "0" {
						t.Errorf("%s is listed through the team that %s had", hall, venue)
					}
					put(s, "halls/"+hall, fmt.Sprintf(`{"name": "M%d"}`, n))
				}
				put(s, venue, fmt.Sprintf(`{"team": %s}`, []string{`"t1"`, `null`, `"t2"`}[random.IntN(3)]))
			}
		})
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for range 12 {
		if t.Failed() {
			break
		}
		reload(hallPaths[random.IntN(len(hallPaths))])
	}
	done.Store(true)
	wait.Wait()
	for _, s := range servers {
		(&service.Conversation{T: t, Service: s, Token: c.Token}).Follow()
		wantHalls(t, s, c.Token, anna)
	}
}

// wantHalls compares the halls that a member of a team sees with those of the venues that
// the team has, or none.
func wantHalls(t *testing.T, s *service.Service, admin, anna string) {
	t.Helper()
	list := func(token, name string) map[string]map[string]any {
		objects := map[string]map[string]any{}
		results, _ := s.Must(token, http.MethodGet, "/api/v1/"+name+"?context=main&pageSize=1000", "", http.StatusOK)["results"].([]any)
		for _, result := range results {
			object, _ := result.(map[string]any)
			objects[fmt.Sprint(object["id"])] = object
		}
		return objects
	}
	id := func(value any) string {
		reference, _ := value.(map[string]any)
		id, _ := reference["id"].(string)
		return id
	}
	venues, seen := list(admin, "venues"), list(anna, "halls")
	for hall, object := range list(admin, "halls") {
		team := id(venues[id(object["venue"])]["team"])
		if _, sees := seen[hall]; sees != (team == "" || team == "t1") {
			t.Errorf("%s, of a venue of the team %q, is seen by a member of t1: %t", hall, team, sees)
		}
	}
}
