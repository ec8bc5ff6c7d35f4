package reload

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// overtaken is a store that holds what some requests do first, so that a reload overtakes them.
type overtaken struct {
	store.Store
	held atomic.Pointer[holding]
}

// holding holds the reads of a caller, or the writes.
type holding struct {
	caller           string
	writes           bool
	reached, release chan struct{}
}

func (h *holding) pass(ctx context.Context, writes bool) {
	if h != nil && h.writes == writes && store.EffortOf(ctx).Caller == h.caller {
		select {
		case h.reached <- struct{}{}:
			<-h.release
		case <-h.release:
		}
	}
}

func (o *overtaken) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	o.held.Load().pass(ctx, false)
	return o.Store.Read(ctx, fn)
}

func (o *overtaken) Write(ctx context.Context, fn func(store.Tx) error) error {
	o.held.Load().pass(ctx, true)
	return o.Store.Write(ctx, fn)
}

// overtakings are reloads by which a caller sees less of halls.
var overtakings = []struct {
	name, caller  string
	before, after hallsSet
}{
	{"owner dropped", "anna", hallsSet{resource: `, "owner": "user"`}, hallsSet{}},
	{"owner by another path", "anna", hallsSet{resource: `, "owner": "user"`}, hallsSet{resource: `, "owner": "venue.user"`}},
	{"owner by another path, of a renamed type", "anna", hallsSet{resource: `, "owner": "user"`}, hallsSet{path: "rooms", resource: `, "was": "halls", "owner": "venue.user"`}},
	{"owner by another property, beside a renamed one", "anna", hallsSet{resource: `, "owner": "user"`}, hallsSet{resource: `, "owner": "guest"`, user: "host"}},
	{"team by another path", "tina", hallsSet{resource: `, "team": "team"`}, hallsSet{resource: `, "team": "venue.team"`}},
	{"team first by another path", "tina", hallsSet{resource: `, "team": ["team", "venue.team"]`}, hallsSet{resource: `, "team": ["venue.team", "team"]`}},
	{"team added", "tina", hallsSet{}, hallsSet{resource: `, "team": "venue.team"`}},
	{"team in place of owner", "anna", hallsSet{resource: `, "owner": "user"`}, hallsSet{resource: `, "team": "team"`}},
	{"permission to read", "nora", hallsSet{}, hallsSet{read: "READ_HALLS"}},
	{"permission to read, of a renamed type", "nora", hallsSet{}, hallsSet{path: "rooms", read: "READ_HALLS", resource: `, "was": "halls"`}},
	{"permission to read a property", "nora", hallsSet{}, hallsSet{note: `, "x-readable": "READ_HALLS"`}},
	{"public dropped", "anna", hallsSet{resource: `, "public": {}`}, hallsSet{}},
	{"public restricted", "anna", hallsSet{resource: `, "public": {}`}, hallsSet{resource: `, "public": {"when": {"properties": {"name": {"const": "P"}}, "required": ["name"]}}`}},
}

// hallsSet is a set of schemas of halls and their venues.
type hallsSet struct {
	// path is that of halls, if it is another one. Resource and note are more keywords of halls
	// and of their property note.
	path, resource, note string
	// read is the permission to see halls, if there is one, and write the one to write them, if
	// it is another one than that of venues.
	read, write string
	// user is the name to which the property user is renamed.
	user string
}

func (h hallsSet) folder() fs.FS {
	permissions := map[string]string{"write": cmp.Or(h.write, "MANAGE_BUSINESS")}
	const manage = `, "permissions": {"write": "MANAGE_BUSINESS"}`
	const owned = `"name": {"type": "string"}, "team": {"x-ref": "teams"}, "venue": {"x-ref": "venues"}`
	path, users := cmp.Or(h.path, "halls"), `, "guest": {"x-ref": "users"}, "user": {"x-ref": "users"}`
	if h.user != "" {
		users = fmt.Sprintf(`, "guest": {"x-ref": "users"}, %q: {"x-ref": "users", "x-was": "user"}`, h.user)
	}
	if h.read != "" {
		permissions["read"] = h.read
	}
	folder := service.TypeWith("venues", manage, `"name": {"type": "string"}, "user": {"x-ref": "users"}, "team": {"x-ref": "teams"}`).(fstest.MapFS)
	maps.Copy(folder, service.TypeWith(path, h.resource+`, "permissions": `+service.JSONText(permissions), owned+users+`, "note": {"type": "string"`+h.note+`}`).(fstest.MapFS))
	return folder
}

// holdOvertaken starts a service with halls, whose requests can be held.
func holdOvertaken(t *testing.T, fresh service.NewStore) (c *service.Conversation, held *overtaken) {
	s := service.StartNew(&service.Service{TB: t, URI: fresh(t), Schemas: []fs.FS{hallsSet{}.folder()}, Plain: &marquee.Application{}, Wrap: func(s store.Store) store.Store {
		held = &overtaken{Store: s}
		return held
	}})
	c = service.ConverseWith(t, s)
	addOvertaken(c)
	return c, held
}

// TestReloadsOvertakeRequests holds requests that began before a reload until objects have been
// stored of which their caller sees less since: they show nothing of that.
func TestReloadsOvertakeRequests(t *testing.T) { service.EachStore(t, testReloadsOvertakeRequests) }

func testReloadsOvertakeRequests(t *testing.T, fresh service.NewStore) {
	c, held := holdOvertaken(t, fresh)
	s := c.Service
	for n, o := range overtakings {
		t.Run(o.name, func(t *testing.T) {
			token, err := s.SignIn(o.caller)
			if err != nil {
				t.Fatal(err)
			}
			public := strings.Contains(o.before.resource, "public")
			o := &overtaking{T: t, s: s, held: held, admin: c.Token, caller: o.caller, token: token, before: o.before.folder(), after: o.after.folder(), prefix: fmt.Sprintf("h%d-", n)}
			o.overtake(false, overtakenReads)
			if !public { // of which the caller may write none
				o.overtake(true, overtakenWrites)
			}
		})
	}
}

// addOvertaken adds the callers of overtakings, with roles of three scopes, and a venue of others.
func addOvertaken(c *service.Conversation) {
	c.Helper()
	user := func(name, role string) string {
		return fmt.Sprintf(`{"type": "roles", "object": {"id": %[2]q, "name": "R", "scope": %[2]q, "permissions": ["MANAGE_BUSINESS"]}},
			{"type": "users", "object": {"id": %[1]q, "username": %[1]q, "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": %[2]q}]}]}}}`, name, role)
	}
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [`+user("anna", "OWN")+`, `+user("tina", "TEAM")+`, `+user("nora", "NETWORK")+`,
		{"type": "teams", "object": {"id": "t1", "name": "One", "users": ["tina"]}}, {"type": "teams", "object": {"id": "t2", "name": "Two"}},
		{"type": "venues", "object": {"id": "v", "name": "V", "user": "nora", "team": "t2"}}]}`, 200, "")
}

type overtaking struct {
	*testing.T
	s             *service.Service
	held          *overtaken
	admin         string
	caller, token string
	before, after fs.FS
	prefix        string
}

// overtakenRequest is a request for the hall {id}.
type overtakenRequest struct{ method, path, body string }

var overtakenReads = []overtakenRequest{
	{"GET", "halls/{id}?context=main", ""},
	{"GET", "halls?context=main&pageSize=1000", ""},
	{"GET", "halls?context=main&id={id}", ""},
	{"GET", "halls?context=main&where=note=hidden&fields=id", ""},
	{"GET", "audit?context=main&type=halls&id={id}", ""},
	{"GET", "audit?context=main&type=halls&pageSize=1000", ""},
	{"GET", "audit?context=main&pageSize=1000", ""},
	{"GET", "changes?context=main&after=begin&limit=1000&include=object&type=halls", ""},
	{"GET", "changes?context=main&after=begin&limit=1000&include=changes&type=halls&id={id}", ""},
}

var overtakenWrites = []overtakenRequest{
	{"PUT", "halls/{id}?context=main", `{"name": "N"}`},
	{"PUT", "halls/{id}?context=main", `{}`},
	{"PUT", "halls/{id}?context=main&validateOnly=true", `{"name": "N"}`},
	{"PATCH", "halls/{id}?context=main", `{"name": "N"}`},
	{"POST", "halls?context=main", `[{"id": "{id}", "name": "N"}]`},
	{"POST", "batch?context=main", `{"operations": [{"type": "halls", "object": {"id": "{id}", "name": "N"}}]}`},
}

// overtake has requests overtaken by a reload after which something else is stored in each hall,
// and expects that the answers do not show that.
func (o *overtaking) overtake(writes bool, requests []overtakenRequest) {
	o.Helper()
	answers := o.send(writes, requests, func() {
		for i := range requests {
			o.put(o.id(writes, i), map[string]any{"note": "hidden"}, http.StatusOK)
		}
	})
	for i, r := range requests {
		a := answers[i]
		if body := string(a.Body); strings.Contains(body, "hidden") || strings.Contains(r.path, "hidden") && strings.Contains(body, `"id"`) {
			o.Errorf("%s %s %s shows what has been stored since: %d %.500s", r.method, r.path, r.body, a.Status, body)
		}
	}
}

// id returns the id of the hall of a request.
func (o *overtaking) id(writes bool, i int) string { return fmt.Sprintf("%s%t%d", o.prefix, writes, i) }

func (o *overtaking) put(id string, object map[string]any, status int) {
	o.Helper()
	o.s.Must(o.admin, http.MethodPut, "/api/v1/halls/"+id+"?context=main", service.JSONText(object), status)
}

// send sends requests, each for a hall of its own, and returns the answers. It holds them until
// the schemas have changed and a function has run.
func (o *overtaking) send(writes bool, requests []overtakenRequest, meanwhile func()) []*service.Answer {
	o.Helper()
	if err := o.s.Swap(o.s.Engine, o.before); err != nil {
		o.Fatal(err)
	}
	for i := range requests {
		o.put(o.id(writes, i), map[string]any{"note": "open", "name": "N", "user": "anna", "team": "t1", "venue": "v"}, http.StatusCreated)
		o.s.Must(o.token, http.MethodGet, "/api/v1/halls/"+o.id(writes, i)+"?context=main", "", http.StatusOK)
	}
	h := &holding{o.caller, writes, make(chan struct{}), make(chan struct{})}
	o.held.held.Store(h)
	release := sync.OnceFunc(func() { close(h.release) })
	defer release()
	answers := make([]*service.Answer, len(requests))
	var wait sync.WaitGroup
	for i, r := range requests {
		fill := strings.NewReplacer("{id}", o.id(writes, i)).Replace
		header := http.Header{}
		if r.method == http.MethodPatch {
			header.Set("Content-Type", "application/merge-patch+json")
		}
		wait.Go(func() {
			answers[i] = o.s.Ask(o.token, r.method, "/api/v1/"+fill(r.path), fill(r.body), header)
			select {
			case <-h.release:
			default:
				o.Errorf("%s %s was not held: %d %.300s", r.method, r.path, answers[i].Status, answers[i].Body)
				h.reached <- struct{}{}
			}
		})
	}
	for range requests {
		<-h.reached
	}
	if err := o.s.Swap(o.s.Engine, o.after); err != nil {
		o.Error(err)
	}
	meanwhile()
	release()
	wait.Wait()
	return answers
}

// TestWithdrawnMeanwhile holds requests that began before a reload after which halls take another
// permission to write, or are no type any more: neither the permission before nor the type can be
// written with.
func TestWithdrawnMeanwhile(t *testing.T) { service.EachStore(t, testWithdrawnMeanwhile) }

func testWithdrawnMeanwhile(t *testing.T, fresh service.NewStore) {
	c, held := holdOvertaken(t, fresh)
	s := c.Service
	token, err := s.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	for n, after := range []fs.FS{hallsSet{write: "MANAGE_HALLS"}.folder(), service.TypeWith("venues", "", `"name": {"type": "string"}`)} {
		refused := []int{http.StatusForbidden, http.StatusNotFound}[n]
		o := &overtaking{T: t, s: s, held: held, admin: c.Token, caller: "nora", token: token, before: hallsSet{}.folder(), after: after, prefix: fmt.Sprintf("w%d-", n)}
		for i, a := range o.send(true, overtakenWrites, func() {}) {
			if r := overtakenWrites[i]; a.Status != refused {
				t.Errorf("%s %s %s: %d %.300s", r.method, r.path, r.body, a.Status, a.Body)
			}
		}
		for i, a := range o.send(false, overtakenReads, func() {}) {
			if r := overtakenReads[i]; a.Status >= http.StatusInternalServerError {
				t.Errorf("%s %s: %d %.300s", r.method, r.path, a.Status, a.Body)
			}
		}
	}
}

// TestListsOvertaken holds lists by a property that began before a reload until it has changed all
// stored values of the property: they find by it what a list that begins then does.
func TestListsOvertaken(t *testing.T) { service.EachStore(t, testListsOvertaken) }

func testListsOvertaken(t *testing.T, fresh service.NewStore) {
	c, held := holdOvertaken(t, fresh)
	s := c.Service
	token, err := s.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	requests := []overtakenRequest{
		{"GET", "halls?context=main&where=note=open;id={id}", ""},
		{"GET", "halls?context=main&where=note=open;id={id}&count=true&fields=id", ""},
		{"GET", "halls?context=main&orderBy=note&id={id}", ""},
	}
	for name, o := range map[string]struct {
		after hallsSet
		want  int
	}{
		"secret":        {hallsSet{note: `, "x-secret": true`}, http.StatusBadRequest},
		"renamed value": {hallsSet{resource: `, "sort": ["note"]`, note: `, "enum": ["shut"], "x-was-values": {"open": "shut"}`}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			run := &overtaking{T: t, s: s, held: held, admin: c.Token, caller: "nora", token: token, prefix: name[:1],
				before: hallsSet{resource: `, "sort": ["note"]`, note: `, "x-secret": false`}.folder(), after: o.after.folder()}
			answers := run.send(false, requests, func() {
				if err := s.Engine.Amend(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
					t.Error(err)
				}
			})
			for i, a := range answers {
				if body := string(a.Body); a.Status != o.want || a.Status == http.StatusOK && !strings.Contains(body, `"`+run.id(false, i)+`"`) {
					t.Errorf("%s: %d %.300s", requests[i].path, a.Status, body)
				}
			}
		})
	}
}

// TestOvertakenResults holds requests of a user for halls of that user until halls belong to their
// guests instead: none stores a hall that the user would not see.
func TestOvertakenResults(t *testing.T) { service.EachStore(t, testOvertakenResults) }

func testOvertakenResults(t *testing.T, fresh service.NewStore) {
	c, held := holdOvertaken(t, fresh)
	token, err := c.Service.SignIn("anna")
	if err != nil {
		t.Fatal(err)
	}
	o := &overtaking{T: t, s: c.Service, held: held, admin: c.Token, caller: "anna", token: token, prefix: "r",
		before: hallsSet{resource: `, "owner": "user"`}.folder(), after: hallsSet{resource: `, "owner": "guest"`}.folder()}
	requests := []overtakenRequest{
		{"PUT", "halls/new-{id}?context=main", `{"name": "N", "user": "anna"}`},
		{"POST", "halls?context=main", `[{"id": "new-{id}", "name": "N", "user": "anna"}]`},
		{"PUT", "halls/{id}?context=main", `{"guest": null}`},
		{"PUT", "halls/new-{id}?context=main", `{"name": "N", "user": "anna", "guest": "anna"}`},
	}
	statuses := []int{http.StatusForbidden, http.StatusForbidden, http.StatusForbidden, http.StatusCreated}
	for i, a := range o.send(true, requests, func() { o.put(o.id(true, 2), map[string]any{"guest": "anna"}, http.StatusOK) }) {
		if r := requests[i]; a.Status != statuses[i] {
			t.Errorf("%s %s %s: %d %.300s, want %d", r.method, r.path, r.body, a.Status, a.Body, statuses[i])
		}
	}
}

// TestReadsBesideReloads changes what a caller sees of halls again and again, while the caller
// reads them: what is stored while the caller sees less is never shown.
func TestReadsBesideReloads(t *testing.T) {
	process.SkipCoveredBy(t, "TestReloadsOvertakeRequests")
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		testReadsBesideReloads(t, 2, []*service.Service{service.NewPlain(t, fresh, hallsSet{}.folder())})
	})
}

// TestServersReadBesideReloads does the same through two servers.
func TestServersReadBesideReloads(t *testing.T) {
	process.SkipCoveredBy(t, "TestReloadsOvertakeRequests")
	t.Parallel()
	servers, _ := service.NewPlainServers(t, 2, hallsSet{}.folder())
	testReadsBesideReloads(t, 1, servers)
}

func testReadsBesideReloads(t *testing.T, rounds int, servers []*service.Service) {
	c := service.ConverseWith(t, servers[0])
	addOvertaken(c)
	for n, o := range overtakings {
		t.Run(o.name, func(t *testing.T) {
			token, err := servers[0].SignIn(o.caller)
			if err != nil {
				t.Fatal(err)
			}
			swap := func(set hallsSet) {
				for _, s := range servers {
					if err := s.Swap(s.Engine, set.folder()); err != nil {
						t.Fatal(err)
					}
				}
			}
			id := fmt.Sprintf("h%d", n)
			put := func(i int, object map[string]any) {
				s := servers[i%len(servers)]
				if a := s.Ask(c.Token, http.MethodPut, "/api/v1/halls/"+id+"?context=main", service.JSONText(object), nil); a.Status >= 300 {
					t.Fatalf("%v: %d %.300s", object, a.Status, a.Body)
				}
			}
			swap(o.before)
			put(0, map[string]any{"note": "open", "name": "N", "user": "anna", "team": "t1", "venue": "v"})
			var done atomic.Bool
			var shown atomic.Int64
			var wait sync.WaitGroup
			defer wait.Wait()
			defer done.Store(true)
			for i, r := range append(overtakenReads[:4:4], overtakenWrites[0]) {
				wait.Go(func() {
					path, s := "/api/v1/"+strings.ReplaceAll(r.path, "{id}", id), servers[i%len(servers)]
					for !done.Load() && !t.Failed() {
						a := s.Ask(token, r.method, path, r.body, nil)
						if body := string(a.Body); strings.Contains(body, "hidden") || strings.Contains(r.path, "hidden") && strings.Contains(body, `"id"`) {
							t.Errorf("%s %s shows what was stored while it was not to be seen: %d %.500s", r.method, path, a.Status, body)
						} else if strings.Contains(body, "open") {
							shown.Add(1)
						}
					}
				})
			}
			for i := range rounds {
				for before := shown.Load(); shown.Load() == before && !t.Failed(); {
					put(i, map[string]any{"note": "open"})
				}
				swap(o.after)
				for n := range 3 {
					put(i+n, map[string]any{"note": "hidden"})
				}
				put(i, map[string]any{"note": "open"})
				swap(o.before)
			}
		})
	}
}

// TestFeedByFormerPaths moves and removes objects after a reload that names their owners by
// another path: whoever they belong to by the former path alone is not told of it.
func TestFeedByFormerPaths(t *testing.T) { service.EachStore(t, testFeedByFormerPaths) }

func testFeedByFormerPaths(t *testing.T, fresh service.NewStore) {
	const methods = `, "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"], "owner": `
	s := service.NewPlain(t, fresh, hallsSet{resource: methods + `"user"`}.folder())
	c := service.ConverseWith(t, s)
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [{"type": "roles", "object": {"id": "member", "name": "M", "scope": "OWN"}},
		{"type": "users", "object": {"id": "anna", "username": "anna", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "member"}]}]}}},
		{"type": "venues", "object": {"id": "v", "name": "V"}}, {"type": "venues", "object": {"id": "annas", "name": "V", "user": "anna"}}]}`, 200, "")
	anna, err := s.SignIn("anna")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Swap(s.Engine, hallsSet{resource: methods + `"venue.user"`}.folder()); err != nil {
		t.Fatal(err)
	}
	const feed = "/api/v1/changes?context=main"
	position, _ := s.Must(anna, http.MethodGet, feed, "", http.StatusOK)["position"].(string)
	c.Send("PUT", "/api/v1/halls/h?context=main", `{"name": "N", "user": "anna", "venue": "v"}`, 201, "")
	c.Send("PUT", "/api/v1/halls/h?context=main", `{"user": null}`, 200, "")
	c.Send("PUT", "/api/v1/halls/h?context=main", `{"user": "anna"}`, 200, "")
	c.Send("DELETE", "/api/v1/halls/h?context=main", "", 204, "")
	c.Send("PUT", "/api/v1/halls/i?context=main", `{"name": "N", "user": "anna", "venue": "v"}`, 201, "")
	c.Send("PUT", "/api/v1/halls/i?context=main", `{"user": null, "venue": "annas"}`, 200, "")
	c.Send("PUT", "/api/v1/halls/i?context=main", `{"user": "anna", "venue": "v"}`, 200, "")
	var told []string
	results, _ := s.Must(anna, http.MethodGet, feed+"&after="+url.QueryEscape(position), "", http.StatusOK)["results"].([]any)
	for _, result := range results {
		event, _ := result.(map[string]any)
		told = append(told, fmt.Sprint(event["id"], " ", event["kind"]))
	}
	if want := []string{"i left"}; !slices.Equal(told, want) {
		t.Errorf("anna is told %v, and not %v", told, want)
	}
}
