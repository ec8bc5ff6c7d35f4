package access

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee"
	"marquee/engine/rest"
	"marquee/integration/service"
)

// publicShows is a folder with shows, of which those that are on sale are public, and with
// halls, which are public, and remarks, which are not.
func publicShows() fs.FS {
	folder := fstest.MapFS{}
	add := func(types fs.FS) { maps.Copy(folder, types.(fstest.MapFS)) }
	add(service.TypeWith("halls", `, "permission": "MANAGE_BUSINESS", "public": {}`, `"name": {"type": "string"}`))
	add(service.TypeWith("remarks", `, "permission": "MANAGE_BUSINESS"`, `"name": {"type": "string"}`))
	add(service.TypeWith("shows", `, "permission": "MANAGE_BUSINESS", "team": "team", "search": ["name"], "sort": ["name"], "index": ["name"],
		"public": {"when": {"properties": {"state": {"const": "ON_SALE"}}, "required": ["state"]}}`,
		`"name": {"type": "string"}, "state": {"enum": ["DRAFT", "ON_SALE"], "type": "string"}, "team": {"x-ref": "teams"}, "hall": {"x-ref": "halls"},
		"note": {"x-ref": "remarks"}, "after": {"x-ref": "shows"}, "pin": {"type": "string", "x-secret": true}`))
	return folder
}

// stranger sends requests without a token, or as a user without a role in the networks.
type stranger struct {
	*service.Service
	token string
}

func (s stranger) get(t *testing.T, method, path string) *service.Answer {
	t.Helper()
	header := http.Header{}
	if s.token != "" {
		header.Set("Authorization", "Bearer "+s.token)
	}
	a, err := s.Send(method, path, header, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// strangers are one without a token, and a user of another network.
func strangers(t *testing.T, s *service.Service, admin string) []stranger {
	t.Helper()
	s.Must(admin, http.MethodPut, "/api/v1/networks/elsewhere", `{"name": "Elsewhere"}`, http.StatusCreated)
	s.Must(admin, http.MethodPost, "/api/v1/batch?context=elsewhere", `{"operations": [{"type": "roles", "object": {"id": "r", "name": "R", "scope": "NETWORK"}},
		{"type": "users", "object": {"id": "eve", "username": "eve", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "elsewhere", "roles": [{"role": "r"}]}]}}}]}`, http.StatusOK)
	token, err := s.SignIn("eve")
	if err != nil {
		t.Fatal(err)
	}
	return []stranger{{s, ""}, {s, token}}
}

// same is an answer without what differs by chance.
func same(a *service.Answer, network string) string {
	header := a.Header.Clone()
	for _, name := range []string{"Date", "X-Request-Id"} {
		header.Del(name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", a.Status)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&b, "%s: %q\n", name, header[name])
	}
	return strings.ReplaceAll(b.String()+string(a.Body), network, "NETWORK")
}

// TestNetworksWithoutPublicObjectsLookAlike: a network that does not exist, one that is not
// ACTIVE, and one without public objects are answered alike, to the last byte.
func TestNetworksWithoutPublicObjectsLookAlike(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		s := service.New(t, fresh, publicShows())
		admin, err := s.SignIn(service.Admin)
		if err != nil {
			t.Fatal(err)
		}
		all := strangers(t, s, admin)
		// Names of one length, so that Content-Length says nothing.
		for _, network := range []string{"asleep", "hidden", "barren"} {
			s.Must(admin, http.MethodPut, "/api/v1/networks/"+network, `{"name": "N"}`, http.StatusCreated)
			body := `{"name": "A", "state": "ON_SALE"}`
			if network == "barren" {
				body = `{"name": "A", "state": "DRAFT"}`
			}
			s.Must(admin, http.MethodPut, "/api/v1/shows/a?context="+network, body, http.StatusCreated)
		}
		for network, state := range map[string]string{"asleep": "INACTIVE", "hidden": "HIDDEN"} {
			s.Must(admin, http.MethodPut, "/api/v1/networks/"+network, `{"objectState": "`+state+`"}`, http.StatusOK)
		}
		for who, stranger := range all {
			for _, path := range []string{"/shows?context=%s", "/shows?context=%s&count=true&q=a", "/shows/a?context=%s", "/shows/b?context=%s", "/shows?context=%s&pageSize=1&where=name=A",
				"/shows?context=%s&onlyMine=true", "/shows?context=%s&cursor=x", "/shows?context=%s&id=a", "/halls?context=%s", "/remarks?context=%s", "/remarks/a?context=%s",
				"/audit?context=%s", "/unknown?context=%s", "/shows/a?context=%s&fields=name"} {
				for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodDelete} {
					want := ""
					for _, network := range []string{"barren", "absent", "asleep", "hidden"} {
						got := same(stranger.get(t, method, "/api/v1"+fmt.Sprintf(path, network)), network)
						if want == "" {
							want = got
						} else if got != want {
							t.Errorf("stranger %d: %s %s of %s:\n%s\nand of one without public objects:\n%s", who, method, path, network, got, want)
						}
					}
				}
			}
		}
	})
}

// TestPublicCORS reads public objects as pages of another origin do, without a token: those of
// origins that are allowed may read the answers, also refusals, and others may not.
func TestPublicCORS(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		const allowed = "https://tickets.example.com"
		s := service.StartNew(&service.Service{TB: t, URI: fresh(t), Schemas: []fs.FS{publicShows()},
			Configure: func(o *marquee.Options) { o.CORS = rest.CORS{Origins: []string{allowed}} }})
		admin, err := s.SignIn(service.Admin)
		if err != nil {
			t.Fatal(err)
		}
		s.Must(admin, http.MethodPut, "/api/v1/shows/a?context=main", `{"name": "A", "state": "ON_SALE"}`, http.StatusCreated)
		const one = "/api/v1/shows/a?context=main"
		for _, c := range []struct {
			method, path string
			status       int
		}{
			{http.MethodGet, one, http.StatusOK}, {http.MethodHead, one, http.StatusOK}, {http.MethodGet, "/api/v1/shows?context=main", http.StatusOK},
			{http.MethodGet, "/api/v1/shows/b?context=main", http.StatusNotFound}, {http.MethodGet, "/api/v1/remarks?context=main", http.StatusUnauthorized},
			{http.MethodOptions, one, http.StatusNoContent},
		} {
			for origin, want := range map[string]string{allowed: allowed, "https://evil.example.com": ""} {
				header := http.Header{"Origin": {origin}}
				if c.method == http.MethodOptions { // a preflight for a request with such headers
					header.Set("Access-Control-Request-Method", http.MethodGet)
					header.Set("Access-Control-Request-Headers", "if-none-match,last-event-id")
				}
				a := s.Ask("", c.method, c.path, "", header)
				if got := a.Header.Get("Access-Control-Allow-Origin"); got != want || c.method != http.MethodOptions && a.Status != c.status {
					t.Errorf("%s %s from %s: %d, and %q may read it", c.method, c.path, origin, a.Status, got)
				}
				if vary := strings.Join(a.Header.Values("Vary"), ","); !strings.Contains(vary, "Origin") || c.status == http.StatusOK && !strings.Contains(vary, "Authorization") {
					t.Errorf("%s %s from %s: caches keep one answer for all: Vary is %q", c.method, c.path, origin, vary)
				}
				if c.method == http.MethodOptions && want != "" && (a.Status != c.status || a.Header.Get("Access-Control-Allow-Methods") != http.MethodGet ||
					!strings.Contains(strings.ToLower(a.Header.Get("Access-Control-Allow-Headers")), "if-none-match,last-event-id")) {
					t.Errorf("the preflight is answered with %d %v", a.Status, a.Header)
				}
			}
		}
	})
}

// show is what the model knows of a show.
type show struct {
	name, state, objectState, after string
	hall, note                      bool
}

func (o show) public() bool { return o.state == "ON_SALE" && o.objectState != "HIDDEN" }

func (o show) body() string {
	body := map[string]any{"name": o.name, "state": o.state, "objectState": o.objectState, "after": nil, "hall": nil, "note": nil, "pin": "1234"}
	if o.after != "" {
		body["after"] = o.after
	}
	if o.hall {
		body["hall"] = "h"
	}
	if o.note {
		body["note"] = "n"
	}
	return service.JSONText(body)
}

func randomShow(random *rand.Rand, ids []string) show {
	o := show{name: pick(random, worldWords), state: pick(random, []string{"DRAFT", "ON_SALE"}), objectState: pick(random, []string{"ACTIVE", "ACTIVE", "INACTIVE", "HIDDEN"}),
		hall: random.IntN(2) == 0, note: random.IntN(2) == 0}
	if random.IntN(2) == 0 && len(ids) > 0 {
		o.after = pick(random, ids)
	}
	return o
}

// TestPublicModel changes shows at random, and asks strangers what they see, in each way
// that there is: each answer is what the model says.
func TestPublicModel(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		s := service.New(t, fresh, publicShows())
		admin, err := s.SignIn(service.Admin)
		if err != nil {
			t.Fatal(err)
		}
		all := strangers(t, s, admin)
		s.Must(admin, http.MethodPut, "/api/v1/halls/h?context=main", `{"name": "Hall"}`, http.StatusCreated)
		s.Must(admin, http.MethodPut, "/api/v1/remarks/n?context=main", `{"name": "Note"}`, http.StatusCreated)
		random := rand.New(rand.NewPCG(service.TestSeed(t), 0))
		shows, ids, shown := map[string]show{}, []string{}, 0
		for n := range 60 {
			id := fmt.Sprintf("s%02d", random.IntN(20))
			o := randomShow(random, ids)
			s.Must(admin, http.MethodPost, "/api/v1/shows?context=main", `[`+strings.TrimSuffix(o.body(), "}")+`,"id":"`+id+`"}]`, http.StatusOK)
			shows[id] = o
			ids = slices.Sorted(maps.Keys(shows))
			for who, stranger := range all {
				one := pick(random, ids)
				a, status := stranger.get(t, http.MethodGet, "/api/v1/shows/"+one+"?context=main"), http.StatusNotFound
				if shows[one].public() {
					status = http.StatusOK
				}
				if a.Status != status {
					t.Fatalf("after %d changes, stranger %d gets %d, not %d, of %+v: %s", n, who, a.Status, status, shows[one], a.Body)
				}
				shown += wantPublic(t, stranger, shows, "", func(show) bool { return true })
				word := pick(random, worldWords)
				wantPublic(t, stranger, shows, pick(random, []string{"&q=", "&where=name=", "&filterBy=name&filterByValue="})+url.QueryEscape(word), func(o show) bool { return o.name == word })
				wantPublic(t, stranger, shows, "&where=after="+one, func(o show) bool { return o.after == one })
				wantPublic(t, stranger, shows, "&includeInactive=false", func(o show) bool { return o.objectState == "ACTIVE" })
			}
		}
		if shown < 100 {
			t.Errorf("only %d shows were public", shown)
		}
	})
}

// wantPublic expects a list to have those public shows that meet a condition, each with the
// names of what is public among its references. It returns their number.
func wantPublic(t *testing.T, s stranger, shows map[string]show, parameters string, meets func(show) bool) int {
	t.Helper()
	var want []string
	for _, id := range slices.Sorted(maps.Keys(shows)) {
		if shows[id].public() && meets(shows[id]) {
			want = append(want, id)
		}
	}
	path := "/api/v1/shows?context=main&orderBy=id&count=true" + parameters
	a := s.get(t, http.MethodGet, path)
	page, _ := a.JSON().(map[string]any)
	if got := service.IDsOf(page); !slices.Equal(got, want) || fmt.Sprint(page["totalCount"]) != fmt.Sprint(len(want)) {
		t.Fatalf("GET %s shows %v, not %v: %d %.300s", path, got, want, a.Status, a.Body)
	}
	results, _ := page["results"].([]any)
	for _, result := range results {
		object, _ := result.(map[string]any)
		for _, absent := range []string{"createUser", "updateUser", "validationWarnings", "pin"} {
			if object[absent] != nil {
				t.Errorf("GET %s shows %s", path, absent)
			}
		}
		for property, public := range map[string]func(id string) bool{"hall": func(string) bool { return true }, "note": func(string) bool { return false },
			"after": func(id string) bool { return shows[id].public() }} {
			reference, _ := object[property].(map[string]any)
			if id, _ := reference["id"].(string); id != "" && (reference["name"] != nil) != public(id) {
				t.Errorf("GET %s shows %s as %v", path, property, reference)
			}
		}
	}
	return len(want)
}

// TestPublicNonInterference asks two services at random that hold the same public objects and
// differ in everything else: a stranger gets the same answers, byte for byte.
func TestPublicNonInterference(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		seed := service.TestSeed(t)
		random := rand.New(rand.NewPCG(seed, 0))
		first := map[string]show{}
		for n := range 20 {
			id := fmt.Sprintf("s%02d", n)
			first[id] = randomShow(random, slices.Sorted(maps.Keys(first)))
		}
		worlds := []stranger{publicWorld(t, fresh, first, nil), publicWorld(t, fresh, first, random)}
		for n := range 300 {
			path, method := publicRequest(random), pick(random, []string{http.MethodGet, http.MethodGet, http.MethodGet, http.MethodHead, http.MethodPut, http.MethodOptions})
			a, b := worlds[0].get(t, method, path), worlds[1].get(t, method, path)
			if x, y := same(a, "NETWORK"), same(b, "NETWORK"); x != y {
				t.Fatalf("MARQUEE_SEED=%d: request %d, %s %s: %s", seed, n, method, path, firstDifferenceOf(x, y))
			}
		}
	})
}

// publicWorld starts a service with shows. With random numbers, what is not public has
// other values, and there is more of it.
func publicWorld(t *testing.T, fresh service.NewStore, shows map[string]show, random *rand.Rand) stranger {
	t.Helper()
	now := time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &service.Service{TB: t, URI: fresh(t), Schemas: []fs.FS{publicShows()}, Clock: &service.Clock{}, UserID: "administrator"}
	s.Clock.Stop(now)
	service.StartNew(s)
	admin, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	put := func(path, body string) {
		t.Helper()
		if a := s.Ask(admin, http.MethodPut, "/api/v1/"+path, body, nil); a.Status >= 300 {
			t.Fatalf("PUT %s: %d %s", path, a.Status, a.Body)
		}
	}
	note := "Note"
	if random != nil {
		note = "Other"
		put("networks/third", `{"name": "Third"}`)
		put("shows/s00?context=third", `{"name": "T", "state": "DRAFT"}`)
	}
	put("halls/h?context=main", `{"name": "Hall"}`)
	put("remarks/n?context=main", `{"name": "`+note+`"}`)
	for _, id := range slices.Sorted(maps.Keys(shows)) {
		now = now.Add(time.Second)
		s.Clock.Stop(now)
		o := shows[id]
		if random != nil && !o.public() {
			o.name, o.hall = "secret "+o.name, !o.hall
		}
		put("shows/"+id+"?context=main", o.body())
		if random == nil {
			continue
		}
		put("shows/x"+id+"?context=main", show{name: pick(random, worldWords), state: "DRAFT", objectState: "ACTIVE", after: id}.body())
	}
	return stranger{s, ""}
}

// publicRequest is the path of a request at random, also for what is not public.
func publicRequest(random *rand.Rand) string {
	id := pick(random, []string{"s00", "s01", "s02", "s03", "s04", "s05", "s06", "s07", "s08", "s09", "xs01", "alien"})
	escape := url.QueryEscape
	path := pick(random, []string{"shows", "shows", "shows", "halls", "remarks", "users", "networks", "unknown", "audit", "notifications", "messagedefinitions"})
	if random.IntN(3) == 0 {
		path += "/" + id
	}
	path = "/api/v1/" + path + "?context=" + pick(random, []string{"main", "main", "main", "main", "third", "nowhere", ""})
	field := pick(random, []string{"name", "state", "after", "note", "hall", "createUser", "objectState", "validationWarnings", "pin", "team", "id"})
	value := pick(random, append(worldWords, "secret", id, "n", "h", "DRAFT", "HIDDEN", "other"))
	switch random.IntN(8) {
	case 0, 1:
		path += "&where=" + escape(field+pick(random, []string{"=", "!=", ">", "<="})+value)
	case 2:
		path += "&where=" + escape(field+pick(random, []string{" is null", " is not null"}))
	case 3:
		path += "&filterBy=" + field + "&" + pick(random, []string{"filterByValue=", "filterByLike=", "filterByNotLike="}) + escape(value)
	case 4:
		path += "&q=" + escape(value)
	case 5:
		path += "&id=" + id + ";s01;xs02"
	case 6:
		path += "&excludeIfMissing=" + field
	}
	for _, more := range []string{"&count=true", "&includeHidden=true", "&onlyMine=true", "&includeInactive=false", "&fields=id,after", "&pageSize=2", "&orderBy=" + pick(random, []string{"name", "id", "createUser", "createTime"})} {
		if random.IntN(7) == 0 {
			path += more
		}
	}
	return path
}
