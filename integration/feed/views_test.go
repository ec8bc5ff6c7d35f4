package feed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"marquee/integration/service"
)

// hospital has objects that belong to teams, directly (wards) and through another (beds).
func hospital(t *testing.T, fresh service.NewStore) *service.Conversation {
	return staffed(service.ConverseWith(t, service.NewPlain(t, fresh, hospitalTypes()...)))
}

func hospitalTypes() []fs.FS {
	return []fs.FS{
		service.TypeWith("wards", `, "team": "team", "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`, `"team": {"x-ref": "teams"}, "text": {"type": "string"}`),
		service.TypeWith("beds", `, "team": "ward.team", "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`, `"ward": {"x-ref": "wards"}, "text": {"type": "string"}`)}
}

// staffed makes the users of a hospital.
func staffed(c *service.Conversation) *service.Conversation {
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "member", "name": "Member", "scope": "TEAM", "permissions": ["MANAGE_OBJECTS"]}},
		{"type": "users", "object": {"id": "nora", "username": "nora", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "member"}]}]}}},
		{"type": "users", "object": {"id": "sven", "username": "sven", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "member"}]}]}}},
		{"type": "teams", "object": {"id": "north", "name": "North", "users": ["nora"]}},
		{"type": "teams", "object": {"id": "south", "name": "South", "users": ["sven"]}}]}`, http.StatusOK, "")
	return c
}

// reader keeps the objects of a type by the list and the changes after it.
type reader struct {
	*service.Conversation
	kind     string
	position string
	objects  map[string]string
	// revisions are those of the last event of each object.
	revisions map[string]float64
	// events and resets count what was received. A member may lack objects whose owners were in
	// doubt when they were listed, and nobody else is reset.
	events, resets int
	member         bool
}

func (r *reader) get(path string) (map[string]any, http.Header) {
	a := r.Service.Ask(r.Token, http.MethodGet, "/api/v1/"+path, "", nil)
	object, _ := a.JSON().(map[string]any)
	if a.Status != http.StatusOK {
		r.Errorf("%d from %s: %.300s", a.Status, path, a.Body)
	}
	return object, a.Header
}

// list returns the objects of a list as texts, and the position before it.
func (r *reader) list() (objects map[string]string, position string) {
	path := r.kind + "?context=main&includeHidden=true&count=false&pageSize=1000"
	objects = map[string]string{}
	position = "true"
	for next := ""; ; {
		page, header := r.get(path + "&position=" + url.QueryEscape(position) + next)
		results, _ := page["results"].([]any)
		for _, result := range results {
			object, _ := result.(map[string]any)
			objects[fmt.Sprint(object["id"])] = service.JSONText(object)
		}
		position = header.Get("Marquee-Position")
		cursor, more := page["nextCursor"].(string)
		if !more {
			return objects, position
		}
		next = "&cursor=" + url.QueryEscape(cursor)
	}
}

// apply applies an event.
func (r *reader) apply(e map[string]any) {
	id := fmt.Sprint(e["id"])
	r.events++
	switch object, shown := e["object"]; {
	case e["kind"] == "left", e["kind"] == "deleted":
		delete(r.objects, id)
	case shown:
		r.objects[id] = service.JSONText(object)
	default:
		delete(r.objects, id) // what has become of it follows
	}
	if number, ok := e["revision"].(json.Number); ok {
		revision, _ := number.Float64()
		if revision < r.revisions[id] {
			r.Errorf("%s %s: revision %v after %v", r.kind, id, revision, r.revisions[id])
		}
		r.revisions[id] = revision
	}
}

// stream applies the changes of streams, each of which it leaves after some events, until ended is
// closed.
func (r *reader) stream(random *rand.Rand, ended <-chan struct{}) {
	for {
		o := open(r.T, r.Service, r.Token, "&include=object&type="+r.kind, r.position)
		for left := 1 + random.IntN(2000); left > 0; left-- {
			select {
			case <-ended:
				_ = o.Answer.Body.Close()
				return
			case e := <-o.Events:
				r.position = e.ID
				switch e.Name {
				case "end":
					r.Errorf("a stream ends with %v", e)
					return
				case "reset":
					value, _ := service.Decode([]byte(e.Data))
					members, _ := value.(map[string]any)
					r.reset(members["reason"])
					left = 0
				case "change":
					value, _ := service.Decode([]byte(e.Data))
					members, _ := value.(map[string]any)
					r.apply(members)
				}
			}
		}
		_ = o.Answer.Body.Close()
	}
}

// reset reads the list again.
func (r *reader) reset(reason any) {
	if !r.member || reason != "OWNERS_IN_DOUBT" {
		r.Errorf("%s: a reset because of %v without a change of rights", r.kind, reason)
	}
	r.resets++
	r.objects, r.position = r.list()
}

// follow applies the changes after the position, and reports whether there were any.
func (r *reader) follow(wait, limit int) bool {
	page, _ := r.get(fmt.Sprintf("changes?context=main&type=%s&include=object&limit=%d&wait=%d&after=%s", r.kind, limit, wait, url.QueryEscape(r.position)))
	if page["reset"] != nil {
		r.reset(page["reset"])
		return true
	}
	results, _ := page["results"].([]any)
	for _, result := range results {
		e, _ := result.(map[string]any)
		r.apply(e)
	}
	r.position, _ = page["position"].(string)
	return len(results) > 0 || page["more"] != nil
}

// changesOf returns MARQUEE_FEED, or else the usual number of changes, a fifth of it with -short.
func changesOf(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("MARQUEE_FEED")
	if text == "" && testing.Short() {
		return usual / 5
	}
	n, err := strconv.Atoi(cmp.Or(text, strconv.Itoa(usual)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestViews lets several callers read lists and then follow their changes, while clients
// create, change, move and remove objects: in the end, each caller holds what the lists
// return. MARQUEE_FEED is the number of changes.
func TestViews(t *testing.T) { service.EachStore(t, testViews) }

func testViews(t *testing.T, fresh service.NewStore) {
	total := changesOf(t, 5_000)
	c := hospital(t, fresh)
	seed := service.TestSeed(t)
	var writers, readers sync.WaitGroup
	ended := make(chan struct{})
	for n := range 4 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			for written := 0; written < total/4; {
				written += write(c, random, n)
			}
		})
	}
	var all []*reader
	for _, user := range []string{service.Admin, "nora", "sven"} {
		token, err := c.Service.SignIn(user)
		if err != nil {
			t.Fatal(err)
		}
		for i, kind := range []string{"wards", "beds", "wards", "beds"} {
			streams := i > 1
			r := &reader{Conversation: &service.Conversation{T: t, Service: c.Service, Token: token}, kind: kind, revisions: map[string]float64{}, member: user != service.Admin}
			all = append(all, r)
			readers.Go(func() {
				r.objects, r.position = r.list()
				random := rand.New(rand.NewPCG(seed, 9))
				if streams {
					r.stream(random, ended)
					return
				}
				for {
					select {
					case <-ended:
						return
					default:
						r.follow(random.IntN(2), 1+random.IntN(1000))
					}
				}
			})
		}
	}
	writers.Wait()
	c.Follow()
	close(ended)
	readers.Wait()
	for _, r := range all {
		for r.follow(0, 1000) {
		}
		want, _ := r.list()
		for id, object := range want {
			if r.objects[id] != object {
				t.Errorf("of %s %s a reader of the feed holds %.300s, and the list has %.300s", r.kind, id, r.objects[id], object)
			}
		}
		for id := range r.objects {
			if want[id] == "" {
				t.Errorf("a reader of the feed holds %s %s, which the list does not have", r.kind, id)
			}
		}
		t.Logf("%d events of %s, %d objects, %d resets", r.events, r.kind, len(want), r.resets)
		if t.Failed() {
			return
		}
	}
}

// write sends one request of a client, and returns the number of objects that it has.
func write(c *service.Conversation, random *rand.Rand, client int) int {
	ward := func() string { return fmt.Sprintf("w%d", random.IntN(12)) }
	bed := func() string { return fmt.Sprintf("b%d-%d", client, random.IntN(200)) }
	if random.IntN(10) == 0 { // refused while a bed refers to the ward
		path := pick(random, "wards/"+ward(), "beds/"+bed(), "beds/"+bed())
		accept(c, c.Service.Ask(c.Token, http.MethodDelete, "/api/v1/"+path+"?context=main", "", nil), http.StatusNoContent, http.StatusNotFound, http.StatusConflict)
		return 1
	}
	var operations []string
	seen := map[string]bool{}
	add := func(kind, id, members string) {
		if !seen[kind+id] {
			seen[kind+id] = true
			operations = append(operations, fmt.Sprintf(`{"type": %q, "object": {"id": %q, "text": "%d", %s}}`, kind, id, random.IntN(1000), members))
		}
	}
	if random.IntN(6) == 0 {
		add("wards", ward(), `"team": `+pick(random, `"north"`, `"south"`, "null"))
	}
	for range 1 + random.IntN(30) {
		name := ward()
		if random.IntN(20) == 0 || client == 0 {
			add("wards", name, `"objectState": "ACTIVE"`)
		}
		in := `"objectState": "ACTIVE"`
		if seen["wards"+name] {
			in = fmt.Sprintf(`"ward": %q`, name)
		}
		add("beds", bed(), in)
	}
	slices.Sort(operations) // so that fewer transactions conflict
	accept(c, c.Service.Ask(c.Token, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [`+strings.Join(operations, ",")+`]}`, nil), http.StatusOK, http.StatusConflict, http.StatusServiceUnavailable)
	return len(operations)
}

func pick(random *rand.Rand, of ...string) string { return of[random.IntN(len(of))] }

func accept(c *service.Conversation, a *service.Answer, statuses ...int) {
	if !slices.Contains(statuses, a.Status) {
		c.Errorf("a write is answered with %d: %.300s", a.Status, a.Body)
	}
}
