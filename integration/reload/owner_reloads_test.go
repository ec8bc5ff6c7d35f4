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

	"marquee/integration/process"
	"marquee/integration/service"
)

// owning is one of the two ways in which objects belong to somebody: to teams, or to users.
type owning struct {
	// keyword is that of x-resource, and scope that of the roles which show what it leads to.
	keyword, scope string
	// property refers to the owner, of a type; anna has what belongs to the first one.
	property, owners string
	first, second    string
	// unowned reports whether anna sees what belongs to nobody, and what has no owners by its
	// schema.
	unowned bool
}

var (
	byTeam = owning{"team", "TEAM", "team", "teams", "t1", "t2", true}
	byUser = owning{"owner", "OWN", "user", "users", "anna", "bert", false}
)

// halls is a folder with venues, which have an owner, and halls, which belong to the owners of
// their venues by some paths; "" is none. The types may be renamed to places and rooms.
func (o owning) halls(paths string, renamed bool) fs.FS {
	const resource = `, "permission": "MANAGE_BUSINESS"`
	venues, halls, ofVenues, ofHalls := "venues", "halls", resource, resource
	if renamed {
		venues, halls = "places", "rooms"
		ofVenues, ofHalls = ofVenues+`, "was": "venues"`, ofHalls+`, "was": "halls"`
	}
	folder := fstest.MapFS{}
	add := func(types fs.FS) { maps.Copy(folder, types.(fstest.MapFS)) }
	property := fmt.Sprintf(`"name": {"type": "string"}, %q: {"x-ref": %q}`, o.property, o.owners)
	if paths != "" {
		ofVenues += fmt.Sprintf(`, %q: %q`, o.keyword, o.property)
		ofHalls += fmt.Sprintf(`, %q: %s`, o.keyword, paths)
	}
	add(service.TypeWith(venues, ofVenues, property))
	add(service.TypeWith(halls, ofHalls, property+fmt.Sprintf(`, "venue": {"x-ref": %q}`, venues)))
	return folder
}

// paths lead from a hall to its owner, in different ways that come to the same.
func (o owning) paths() []string {
	through := fmt.Sprintf(`"venue.%s"`, o.property)
	return []string{through, fmt.Sprintf(`[%q, %s]`, o.property, through), fmt.Sprintf(`[%s, %q]`, through, o.property)}
}

// TestTeamMovesBesideReloads changes the path to the team of a type, so that its objects
// are indexed again, and renames the types, while the objects that they belong to move to other teams: nobody
// sees through the old team what another one has got, and in the end each team sees all
// of its objects.
func TestTeamMovesBesideReloads(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		testMovesBesideReloads(t, byTeam, 6, []*service.Service{service.NewPlain(t, fresh, byTeam.halls("", false))})
	})
}

// TestServersMoveTeamsBesideReloads does the same through two servers.
func TestServersMoveTeamsBesideReloads(t *testing.T) {
	t.Parallel()
	servers, _ := service.NewPlainServers(t, 2, byTeam.halls("", false))
	testMovesBesideReloads(t, byTeam, 6, servers)
}

// TestOwnMovesBesideReloads moves objects from user to user, and adds, changes and drops the
// path to the user: nobody sees what belongs to another one.
func TestOwnMovesBesideReloads(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		testMovesBesideReloads(t, byUser, 6, []*service.Service{service.NewPlain(t, fresh, byUser.halls("", false))})
	})
}

// TestServersMoveOwnBesideReloads does the same through two servers.
func TestServersMoveOwnBesideReloads(t *testing.T) {
	t.Parallel()
	servers, _ := service.NewPlainServers(t, 2, byUser.halls("", false))
	testMovesBesideReloads(t, byUser, 6, servers)
}

// TestServersMoveOwn moves objects from user to user through two servers whose schemas stay.
func TestServersMoveOwn(t *testing.T) {
	t.Parallel()
	servers, _ := service.NewPlainServers(t, 2, byUser.halls("", false))
	testMovesBesideReloads(t, byUser, 0, servers)
}

// testMovesBesideReloads moves venues beside some reloads, or several times without them.
func testMovesBesideReloads(t *testing.T, o owning, reloads int, servers []*service.Service) {
	c := service.ConverseWith(t, servers[0])
	const venues, all = 4, 60
	user := func(name string) string {
		return fmt.Sprintf(`{"type": "users", "object": {"id": %[1]q, "username": %[1]q, "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "member"}]}]}}}`, name)
	}
	c.Send("POST", "/api/v1/batch?context=main", fmt.Sprintf(`{"operations": [{"type": "roles", "object": {"id": "member", "name": "M", "scope": %q}}, %s, %s,
		{"type": "teams", "object": {"id": "t1", "name": "One", "users": ["anna"]}}, {"type": "teams", "object": {"id": "t2", "name": "Two"}}]}`, o.scope, user("anna"), user("bert")), 200, "")
	anna, err := servers[0].SignIn("anna")
	if err != nil {
		t.Fatal(err)
	}
	for i := range venues {
		c.Send("POST", fmt.Sprintf("/api/v1/venues/v%d?context=main", i), fmt.Sprintf(`{"name": "V", %q: %q}`, o.property, o.first), 201, "")
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
	reload := func(paths string, renamed bool) {
		for _, s := range servers {
			if err := s.Swap(s.Engine, o.halls(paths, renamed)); err != nil {
				t.Fatalf("%s: %v", paths, err)
			}
		}
	}
	reload(o.paths()[0], false)
	var moves, shown atomic.Int64
	for v := range venues {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(v)+2))
			venue, hall := fmt.Sprintf("venues/v%d", v), fmt.Sprintf("h%02d", v)
			for n := 0; !done.Load() && !t.Failed(); n++ {
				put(servers[random.IntN(len(servers))], venue, fmt.Sprintf(`{%q: %q}`, o.property, o.second))
				moves.Add(1)
				for range 2 {
					s := servers[random.IntN(len(servers))]
					wantUnseen(t, s, anna, hall)
					put(s, "halls/"+hall, fmt.Sprintf(`{"name": "M%d"}`, n))
				}
				owner := []string{service.JSONText(o.first), `null`, service.JSONText(o.second)}[random.IntN(3)]
				put(servers[random.IntN(len(servers))], venue, fmt.Sprintf(`{%q: %s}`, o.property, owner))
			}
		})
	}
	wait.Go(func() {
		for n := 0; !done.Load() && !t.Failed(); n++ {
			shown.Add(int64(wantWholePage(t, servers[n%len(servers)], anna)))
		}
	})
	random := rand.New(rand.NewPCG(seed, 0))
	paths := o.paths()
	if !o.unowned {
		paths = append(paths, "") // which shows nothing to anna; with teams, it shows everything
	}
	for range reloads {
		if t.Failed() {
			break
		}
		reload(paths[random.IntN(len(paths))], random.IntN(2) == 0)
	}
	for moves.Load() < 20 && !t.Failed() {
		wantWholePage(t, servers[0], anna)
	}
	reload(o.paths()[0], false)
	done.Store(true)
	wait.Wait()
	for _, s := range servers {
		(&service.Conversation{T: t, Service: s, Token: c.Token}).Follow()
		o.wantHalls(t, s, c.Token, anna)
	}
	if t.Logf("%d moves, %d halls shown meanwhile", moves.Load(), shown.Load()); shown.Load() == 0 {
		t.Error("nothing was shown to whom it belonged")
	}
}

// wantUnseen expects that a hall is shown neither by itself nor in lists, counts, the history and the
// feed, by any path of its type. Halls may be rooms at the moment.
func wantUnseen(t *testing.T, s *service.Service, anna, hall string) {
	t.Helper()
	for _, path := range []string{"halls", "rooms"} {
		if a := s.Ask(anna, http.MethodGet, "/api/v1/"+path+"/"+hall+"?context=main", "", nil); a.Status != http.StatusNotFound {
			t.Errorf("%s of %s is seen by whom its venue belonged to: %d %.300s", hall, path, a.Status, a.Body)
		}
		if a := s.Ask(anna, http.MethodGet, "/api/v1/audit?context=main&type="+path+"&id="+hall, "", nil); a.Status != http.StatusNotFound {
			t.Errorf("the history of %s of %s is shown to whom its venue belonged to: %d %.300s", hall, path, a.Status, a.Body)
		}
		if a := s.Ask(anna, http.MethodGet, "/api/v1/"+path+"?context=main&id="+hall, "", nil); a.Status == http.StatusOK && !strings.Contains(string(a.Body), `"totalCount":0`) {
			t.Errorf("%s is listed as one of %s for whom its venue belonged to: %.300s", hall, path, a.Body)
		}
		a := s.Ask(anna, http.MethodGet, "/api/v1/changes?context=main&after=begin&limit=1000&include=object&type="+path+"&id="+hall, "", nil)
		if a.Status != http.StatusNotFound && (a.Status != http.StatusOK || strings.Contains(string(a.Body), `"object":`)) {
			t.Errorf("the feed of %s shows %s to whom its venue belonged to: %d %.300s", path, hall, a.Status, a.Body)
		}
	}
	for _, narrowed := range []string{"&id=" + hall, "&pageSize=1&where=id=" + hall} {
		if list := s.Must(anna, http.MethodGet, "/api/v1/halls?context=main"+narrowed, "", http.StatusOK); fmt.Sprint(list["totalCount"]) != "0" {
			t.Errorf("%s is listed for whom its venue belonged to, by %s: %v", hall, narrowed, list)
		}
	}
}

// wantWholePage lists the halls that anna sees: their venues are hers at the same moment, so they
// are shown with their names, and the count is that of the page. It returns the number of halls.
func wantWholePage(t *testing.T, s *service.Service, anna string) int {
	t.Helper()
	page := s.Must(anna, http.MethodGet, "/api/v1/halls?context=main&pageSize=1000", "", http.StatusOK)
	results, _ := page["results"].([]any)
	if fmt.Sprint(page["totalCount"]) != fmt.Sprint(len(results)) {
		t.Errorf("a page of %d halls counts %v", len(results), page["totalCount"])
	}
	for _, result := range results {
		hall, _ := result.(map[string]any)
		if venue, _ := hall["venue"].(map[string]any); venue["name"] == nil {
			t.Errorf("%v is shown, and its venue is not: %v", hall["id"], hall)
		}
	}
	return len(results)
}

// wantHalls compares the halls that anna sees with those of the venues whose owner is hers.
func (o owning) wantHalls(t *testing.T, s *service.Service, admin, anna string) {
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
		owner := id(venues[id(object["venue"])][o.property])
		if _, sees := seen[hall]; sees != (owner == o.first || owner == "" && o.unowned) {
			t.Errorf("%s, of a venue of %q, is seen by anna: %t", hall, owner, sees)
		}
	}
}
