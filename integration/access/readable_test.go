package access

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// charts is a folder with a type of which a part is read with a permission, or with all
// of it open.
func charts(permission string) fs.FS {
	return chartsWith("charts", permission, "diagnosis", "", `["A", "B"]`, "", "")
}

// laterCharts are those of which the part is read with a permission, at another path, with another
// name, another value and a default in that part.
func laterCharts(permission string) fs.FS {
	return chartsWith("records", permission, "finding", `, "x-was": "diagnosis"`, `["AA", "B"], "x-was-values": {"A": "AA"}`, `"required": ["ward"], `, `, "default": "W"`)
}

func chartsWith(path, permission, name, was, grades, required, ward string) fs.FS {
	readable, formerly := "", ""
	if path != "charts" {
		formerly = `, "was": "charts"`
	}
	if permission != "" {
		readable = fmt.Sprintf(`, "x-readable": %q`, permission)
	}
	return service.TypeWith(path, formerly+fmt.Sprintf(`, "permission": "MANAGE_BUSINESS", "search": ["name"], "sort": ["name", %[1]q], "index": [%[1]q]`, name),
		`"name": {"type": "string"}, "note": {"type": "string"}, "`+name+`": {"type": "string"`+readable+was+`}, "grade": {"type": "string", "enum": `+grades+readable+`},
		"care": {"type": "object", `+required+`"properties": {"plan": {"type": "string"}, "risk": {"type": "string"`+readable+`}, "ward": {"type": "string"`+readable+ward+`}}},
		"file": {"type": "object", "x-complete": true, "properties": {"shelf": {"type": ["string", "null"]}, "key": {"type": ["string", "null"]`+readable+`}}}`)
}

const nurse = `{"operations": [
	{"type": "roles", "object": {"id": "nurse", "name": "N", "scope": "NETWORK", "permissions": ["MANAGE_BUSINESS"]}},
	{"type": "users", "object": {"id": "nora", "username": "nora", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "nurse"}]}]}}}]}`

// TestUnseenPropertiesDoNotInterfere sends random requests to two services that differ
// only in the values of properties that their sender does not see, and in how often these
// have changed: the answers are the same, byte for byte.
func TestUnseenPropertiesDoNotInterfere(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testUnseenPropertiesDoNotInterfere)
}

func testUnseenPropertiesDoNotInterfere(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	seed := service.TestSeed(t)
	p := &twins{tb: t, caller: "nora", now: time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC)}
	const objects, length = 6, 400
	began := p.now
	for i := range p.worlds {
		r := rand.New(rand.NewPCG(seed, 1)) // the same for both
		s := &service.Service{TB: t, URI: fresh(t), Clock: &service.Clock{}, UserID: "administrator", Schemas: []fs.FS{charts("READ_CHARTS")}}
		now := began
		s.Clock.Stop(now)
		s.Deadline = time.Minute
		w := &twin{Service: service.StartNew(s)}
		p.worlds[i] = w
		admin, err := s.SignIn(service.Admin)
		if err != nil {
			t.Fatal(err)
		}
		s.Must(admin, http.MethodPost, "/api/v1/batch?context=main", nurse, http.StatusOK)
		unseen := func() string { return fmt.Sprintf("u%d-%d", i, r.IntN(3)) }
		for range 2 {
			for n := range objects {
				now = now.Add(time.Millisecond)
				s.Clock.Stop(now)
				path := fmt.Sprintf("/api/v1/charts/c%d?context=main", n)
				status := http.StatusCreated
				if a := s.Ask(admin, http.MethodGet, path, "", nil); a.Status == http.StatusOK {
					status = http.StatusOK
				}
				s.Must(admin, http.MethodPut, path, fmt.Sprintf(`{"name": "n%d", "note": "v%d", "diagnosis": %q, "grade": %q, "care": {"plan": "p%d", "risk": %q}, "file": {"key": %q}}`,
					n, r.IntN(1000), unseen(), []string{"A", "B"}[(n+i)%2], r.IntN(2), unseen(), unseen()), status)
				for change := range 2 * i { // of the hidden part alone
					s.Must(admin, http.MethodPut, path, fmt.Sprintf(`{"diagnosis": "d%d"}`, change), http.StatusOK)
				}
			}
		}
		if err := s.Swap(s.Engine, laterCharts("READ_CHARTS")); err != nil {
			t.Fatal(err)
		}
		p.now = now
		if w.token, err = s.SignIn(p.caller); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(seed, 2))
	statuses := map[int]int{}
	for n := range length {
		for _, w := range p.worlds {
			if n != length/2 {
				break
			}
			if err := w.Engine.Amend(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
		}
		request := unseenRequest(r, objects)
		if r.IntN(2) == 0 {
			request.path, request.body = strings.ReplaceAll(request.path, "diagnosis", "finding"), strings.ReplaceAll(request.body, "diagnosis", "finding")
		}
		if r.IntN(2) == 0 {
			request.path, request.body = strings.ReplaceAll(request.path, "charts", "records"), strings.ReplaceAll(request.body, "charts", "records")
		}
		difference, status := p.ask(request)
		if statuses[status]++; difference != "" {
			t.Fatalf("MARQUEE_SEED=%d: request %d: %s\n%s", seed, n, request.curl(), difference)
		}
	}
	t.Logf("%v", statuses)
	if statuses[200] < length/3 {
		t.Errorf("only %d of %d requests were answered with something", statuses[200], length)
	}
	for _, w := range p.worlds { // for whoever sees all, the worlds differ
		var err error
		if w.token, err = w.SignIn(service.Admin); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/api/v1/charts?context=main", "/api/v1/audit?context=main&type=charts", "/api/v1/charts?context=main&where=diagnosis=d1"} {
		if difference, _ := p.ask(programmed{method: http.MethodGet, path: path}); difference == "" {
			t.Errorf("the worlds are alike for an administrator at %s", path)
		}
	}
}

// unseenRequest returns a request about charts.
func unseenRequest(r *rand.Rand, objects int) programmed {
	one := func(from ...string) string { return from[r.IntN(len(from))] }
	id := fmt.Sprintf("c%d", r.IntN(objects))
	field := one("name", "note", "diagnosis", "care.risk", "care.plan", "care.ward", "grade", "file.key", "file", "care", "nothing", "validationWarnings")
	value := one("u0-0", "u1-0", "n1", "p1", "A", "AA")
	escape := url.QueryEscape
	q := programmed{method: http.MethodGet, path: "/api/v1/charts/" + id + "?context=main", header: map[string]string{}}
	list, audit := "/api/v1/charts?context=main", "/api/v1/audit?context=main"
	switch r.IntN(16) {
	case 0:
		q.path += "&fields=id," + field
	case 1:
		q.header["If-None-Match"] = "{etag}"
	case 2:
		q.path = list + "&where=" + escape(field+one("=", "!=", " is null", " in ")+value)
	case 3:
		q.path = list + "&orderBy=" + field + "&fields=id," + field
	case 4:
		q.path = list + "&filterBy=" + field + "&filterByValue=" + value
	case 5:
		q.path = list + one("&q="+value, "&excludeIfMissing="+field, "&excludeInvalid=true", "&pageSize=2", "&pageSize=2&cursor={cursor}")
	case 6:
		q.path = audit + "&type=charts&id=" + id + one("", "&pageSize=1", "&pageSize=2&page=1", "&pageSize=1&cursor={cursor}")
	case 7:
		q.path = audit + one("", "&type=charts") + one("", "&pageSize=3", "&pageSize=3&page=1", "&pageSize=2&cursor={cursor}", "&count=false")
	case 8:
		q.path = one("/api/v1/notifications?context=main", "/api/v1/messagedefinitions")
	case 9, 10:
		q.method, q.body = one(http.MethodPut, http.MethodPost), one(`{"note": "a"}`, `{"care": {"plan": "b"}}`, `{"care": null}`, `{"file": {"shelf": "c"}}`, `{"file": {}}`, `{"file": null}`, `{"diagnosis": "d"}`, `{"care": {"plan": "p", "risk": "r"}, "file": {"key": "k"}}`, `{"note": 1}`)
	case 11:
		q.method, q.body = http.MethodPatch, one(`{"note": null}`, `{"care": {"plan": "e"}}`, `{"file": {"shelf": null}}`, `{"care": {"risk": null}, "diagnosis": null}`)
		q.header["Content-Type"] = "application/merge-patch+json"
	case 12:
		q.method, q.body = http.MethodPut, `{"note": "f"}`
		q.header["If-Match"] = "{etag}"
	case 13:
		q.method, q.path = http.MethodPut, q.path+"&fieldValidation=Strict&validateOnly=true"
		q.body = one(`{"diagnosis": "d"}`, `{"care": {"risk": "r"}}`, `{"nothing": 1}`)
	case 14:
		q.method, q.path = http.MethodPost, "/api/v1/batch?context=main"
		q.body = fmt.Sprintf(`{"operations": [{"type": "charts", "object": {"id": %q, "note": %q, "diagnosis": "x"}}, {"type": "charts", "object": {"id": "c0", "care": {"plan": "y"}}}]}`, "c"+one("1", "2"), value)
	}
	return q
}

// TestReadableReloads makes a property one that is read with a permission, and open again,
// under traffic: what is stored while it needs the permission is never shown to a caller
// without it, in whichever order reads, writes and reloads happen.
func TestReadableReloads(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testReadableReloads)
}

func testReadableReloads(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh, charts(""))
	c := service.ConverseWith(t, s)
	c.Send("POST", "/api/v1/batch?context=main", nurse, 200, "")
	nora, err := s.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/charts/c?context=main"
	store := func(value string) {
		s.Ask(c.Token, http.MethodPut, path, fmt.Sprintf(`{"name": "N", "diagnosis": %q, "care": {"plan": "p", "risk": %q}, "file": {"key": %q}}`, value, value, value), nil)
	}
	store("open")
	var done atomic.Bool
	var closed atomic.Int64 // odd while the property needs the permission
	var shown, withheld atomic.Int64
	var wait sync.WaitGroup
	reads := []string{path, "/api/v1/charts?context=main", "/api/v1/charts?context=main&orderBy=diagnosis&fields=id,diagnosis", path + "&fields=care.risk",
		"/api/v1/charts?context=main&fields=id&where=" + url.QueryEscape("diagnosis=hidden")}
	for n, read := range reads {
		wait.Go(func() {
			for !done.Load() && !t.Failed() {
				before := closed.Load()
				a := s.Ask(nora, http.MethodGet, read, "", nil)
				body := string(a.Body)
				switch {
				case strings.Contains(body, `"hidden"`), n == len(reads)-1 && strings.Contains(body, `"id":"c"`):
					t.Errorf("%s shows what was stored while it was not to be seen: %d %s", read, a.Status, body)
				case before%2 == 1 && closed.Load() == before && strings.Contains(body, `"open"`):
					t.Errorf("%s shows what is not to be seen: %d %s", read, a.Status, body)
				case strings.Contains(body, `"open"`):
					shown.Add(1)
				case before%2 == 1:
					withheld.Add(1)
				}
			}
		})
	}
	for range 8 {
		if err := s.Swap(s.Engine, charts("READ_CHARTS")); err != nil {
			t.Fatal(err)
		}
		closed.Add(1)
		for range 3 {
			store("hidden")
		}
		store("open")
		closed.Add(1)
		if err := s.Swap(s.Engine, charts("")); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; n < 1000 && shown.Load() == 0 && !t.Failed(); n++ {
		s.Ask(nora, http.MethodGet, path, "", nil)
	}
	done.Store(true)
	wait.Wait()
	t.Logf("shown %d times, withheld %d times", shown.Load(), withheld.Load())
	if shown.Load() == 0 || withheld.Load() == 0 {
		t.Error("the reads did not meet both schemas")
	}
}
