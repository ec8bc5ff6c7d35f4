package access

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// unseenTypes are types whose objects can be removed, and whose values are unique together or
// must not overlap. Copies and loans belong to teams, and files are read with a permission.
func unseenTypes() []fs.FS {
	const methods = `, "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`
	return []fs.FS{
		service.TypeWith("copies", methods+`, "team": "team"`, `"team": {"x-ref": "teams"}`),
		fstest.MapFS{"loans.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Loan", "type": "object",
			"x-resource": {"path": "loans"` + methods + `, "team": "copy.team", "unique": [["copy", "seat"], ["file", "seat"]]},
			"x-exclusive": [{"properties": ["copy"], "from": "from", "to": "to"}],
			"properties": {"copy": {"x-ref": "copies"}, "file": {"x-ref": "files"}, "seat": {"type": "integer"}, "from": {"type": "integer"}, "to": {"type": "integer"}}}`)}},
		service.TypeWith("files", methods+`, "unique": ["name"], "permissions": {"read": "READ_FILES"}`, `"name": {"type": "string"}`),
	}
}

// unseenWorld has a user kari of a team, and an object of another team of each
// of these types, that is called "unseen".
func unseenWorld(c *service.Conversation) {
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "team", "name": "T", "permissions": ["MANAGE_BUSINESS"]}},
		{"type": "users", "object": {"id": "kari", "username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "team"}]}]}}},
		{"type": "teams", "object": {"id": "own", "name": "Own", "users": ["kari"]}}, {"type": "teams", "object": {"id": "others", "name": "Others"}},
		{"type": "layouts", "object": {"id": "l", "name": "L", "html": "<p></p>"}}, {"type": "sites", "object": {"id": "unseen", "name": "S"}},
		{"type": "adunits", "object": {"id": "unseen", "name": "U", "site": "unseen"}},
		{"type": "advertisers", "object": {"id": "unseen", "name": "A", "team": "others"}}, {"type": "advertisers", "object": {"id": "seen", "name": "A", "team": "own"}},
		{"type": "orders", "object": {"id": "unseen", "name": "O", "team": "others"}}, {"type": "lineitems", "object": {"id": "unseen", "name": "LI", "order": "unseen"}},
		{"type": "creatives", "object": {"id": "unseen", "name": "C", "lineItem": "unseen", "layout": "l", "dimensionType": "FLEXIBLE", "verifiedSafe": true}},
		{"type": "copies", "object": {"id": "unseen", "team": "others"}}, {"type": "files", "object": {"id": "unseen", "name": "F"}},
		{"type": "loans", "object": {"id": "unseen", "copy": "unseen", "file": "unseen", "seat": 1, "from": 1, "to": 9}},
		{"type": "segments", "object": {"id": "unseen", "name": "S", "dataSource": "ADOBE", "team": "others"}}]}`, 200, "")
}

// unseenRequests name an object in every position where an invisible one must be
// answered like a missing one; the id is {id}.
func unseenRequests() (requests []programmed) {
	add := func(method, path, body string) {
		requests = append(requests, programmed{method: method, path: path, body: body})
	}
	escape := url.QueryEscape
	for _, kind := range []string{"sites", "adunits", "advertisers", "orders", "lineitems", "creatives", "segments", "copies", "loans", "files"} {
		add("GET", "/api/v1/"+kind+"/{id}?context=main", "")
		add("HEAD", "/api/v1/"+kind+"/{id}?context=main", "")
		add("GET", "/api/v1/"+kind+"?context=main&id={id}", "")
		add("GET", "/api/v1/"+kind+"?context=main&where="+escape("id=")+"{id}", "")
		add("GET", "/api/v1/audit?context=main&type="+kind+"&id={id}", "")
	}
	for _, kind := range []string{"copies", "loans", "files"} {
		add("DELETE", "/api/v1/"+kind+"/{id}?context=main", "")
	}
	for _, kind := range []string{"orders", "copies", "loans", "files"} {
		add("PATCH", "/api/v1/"+kind+"/{id}?context=main", `{"id": "{id}"}`)
	}
	for _, reference := range []string{"copy", "file"} { // to what another loan has that would clash
		add("POST", "/api/v1/loans/new?context=main", `{"`+reference+`": "{id}", "seat": 1, "from": 2, "to": 3}`)
	}
	add("GET", "/api/v1/assets/{id}?context=main", "")
	for kind, reference := range map[string]string{"adunits": "site", "orders": "advertiser", "lineitems": "order", "articles": "site"} {
		add("GET", "/api/v1/"+kind+"?context=main&where="+reference+"={id}", "")
		add("POST", "/api/v1/"+kind+"/new?context=main", `{"name": "N", "url": "https://example.com/", "`+reference+`": "{id}"}`)
	}
	add("POST", "/api/v1/creatives/new?context=main", `{"name": "N", "layout": "l", "dimensionType": "FLEXIBLE", "verifiedSafe": true, "lineItem": "{id}"}`)
	add("POST", "/api/v1/lineitems/new?context=main", `{"name": "N", "targeting": {"siteTarget": {"sites": ["{id}"]}}}`)
	add("POST", "/api/v1/targetingquery/articles2?context=main&pageSize=9&thresholdScore=0.5&sentence=x", `{"siteTarget": {"sites": ["{id}"]}}`)
	return requests
}

func (r programmed) of(id string) programmed {
	r.path, r.body = strings.ReplaceAll(r.path, "{id}", id), strings.ReplaceAll(r.body, "{id}", id)
	return r
}

// TestUnseenIsTheWorkOfMissing: objects that a user does not see and objects that do
// not exist are answered in the same words, and after the same work of the store, so that no
// clock can distinguish them. How long each takes is measured by TestTiming.
func TestUnseenIsTheWorkOfMissing(t *testing.T) { service.EachStore(t, testUnseenIsTheWorkOfMissing) }

func testUnseenIsTheWorkOfMissing(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	var calls *service.Ledger
	s := service.StartNew(&service.Service{TB: t, URI: fresh(t), Schemas: unseenTypes(), Wrap: func(s store.Store) store.Store {
		calls = &service.Ledger{Store: s}
		return calls
	}})
	c := service.ConverseWith(t, s)
	unseenWorld(c)
	var err error
	if c.Token, err = s.SignIn("kari"); err != nil {
		t.Fatal(err)
	}
	for _, r := range unseenRequests() {
		work := func(id string) string {
			q := r.of(id)
			header := http.Header{"Content-Type": {"application/json"}}
			s.Ask(c.Token, q.method, q.path, q.body, header) // which fills what is kept
			calls.Taken()
			a := s.Ask(c.Token, q.method, q.path, q.body, header)
			if a.Status >= 500 {
				t.Errorf("%s: %s", q.curl(), a.Body)
			}
			return strings.ReplaceAll(fmt.Sprintf("%d %s: %s", a.Status, a.Body, calls.Taken()), id, "ID")
		}
		if a, b := work("unseen"), work("missng"); a != b {
			t.Errorf("%s\nunseen:  %s\nmissing: %s", r.curl(), a, b)
		}
	}
}

// TestTiming measures how long refusals take that must not reveal anything: the
// medians of many samples, in random order, differ by less than a tenth. It
// runs where MARQUEE_TIMING is set, on a machine that does nothing else.
func TestTiming(t *testing.T) {
	if os.Getenv("MARQUEE_TIMING") == "" {
		t.Skip("MARQUEE_TIMING is not set: a busy machine measures nothing")
	}
	for name, fresh := range map[string]service.NewStore{"sqlite": service.NewSQLite, "mongodb": service.Reusing(t)} {
		t.Run(name, func(t *testing.T) { testTiming(t, fresh) })
	}
}

func testTiming(t *testing.T, fresh service.NewStore) {
	c := service.ConverseWith(t, service.New(t, fresh, unseenTypes()...))
	unseenWorld(c)
	c.Send("POST", "/api/v1/users?context=main", `[{"id": "idle", "username": "idle", "password": "a password to test with", "objectState": "INACTIVE"}]`, 200, "")
	token, err := c.Service.SignIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range unseenRequests() {
		alike(c, r.method+" "+r.path+" "+r.body, 400, func(second bool) {
			q := r.of(map[bool]string{false: "unseen", true: "missng"}[second])
			c.Service.Ask(token, q.method, q.path, q.body, http.Header{"Content-Type": {"application/json"}})
		})
	}
	grant := func(form url.Values) {
		if _, err := c.Service.Send("POST", "/api/authenticate", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, strings.NewReader(form.Encode())); err != nil {
			t.Error(err)
		}
		c.Service.Clock.Advance(16 * time.Minute) // behind which failed grants are forgotten
	}
	guess := func(user, password string) func() {
		return func() { grant(url.Values{"grant_type": {"password"}, "username": {user}, "password": {password}}) }
	}
	wrong := guess("kari", "a wrong guess")
	for what, other := range map[string]func(){"an unknown user": guess("nobody", "a wrong guess"), "an inactive user": guess("idle", "a password to test with"),
		"a longer guess": guess("kari", strings.Repeat("a wrong guess ", 50)), "a guess that is nearly right": guess("kari", "a password to test witi")} {
		alike(c, what, 60, func(second bool) {
			if second {
				other()
			} else {
				wrong()
			}
		})
	}
}

// alike measures two requests, of which the second must take as long as the first.
func alike(c *service.Conversation, what string, samples int, ask func(second bool)) {
	c.Helper()
	var took [2][]time.Duration
	for n := range 2*samples + 20 {
		second := rand.IntN(2)
		if len(took[second]) >= samples {
			second = 1 - second
		}
		began := time.Now()
		ask(second == 1)
		if n >= 20 {
			took[second] = append(took[second], time.Since(began))
		}
	}
	var medians [2]time.Duration
	for i, samples := range took {
		slices.Sort(samples)
		medians[i] = samples[len(samples)/2]
	}
	ratio := float64(medians[0]) / float64(medians[1])
	c.Logf("%s: %v and %v", what, medians[0], medians[1])
	if ratio > 1.1 || ratio < 1/1.1 {
		c.Errorf("%s: %v and %v", what, medians[0], medians[1])
	}
}
