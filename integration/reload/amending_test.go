package reload

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// amendable returns the type of tickets with more properties, which are required.
func amendable(required, properties string) fs.FS {
	return fstest.MapFS{"tickets.json": {Data: []byte(amendableFile(required, properties))}}
}

func amendableFile(required, properties string) string {
	return `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Ticket", "x-resource": {"path": "tickets", "index": ["tags"]}, "type": "object",
		"required": [` + required + `], "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}` + properties + `}}`
}

// TestServersAmend fills a default in on one server while another one, with the schemas before,
// writes objects that lack it. What the set served last asks for is done; the other one undoes
// nothing.
func TestServersAmend(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 2, amendable("", ""))
	here, there := servers[0], servers[1]
	amend := func(s *service.Service) {
		t.Helper()
		if err := s.Engine.Amend(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	ticket := func(s *service.Service, id string) map[string]any {
		t.Helper()
		return s.Must(token, http.MethodGet, "/api/v1/tickets/"+id+"?context=main", "", http.StatusOK)
	}
	there.Must(token, http.MethodPost, "/api/v1/tickets/a?context=main", `{"name": "A"}`, http.StatusCreated)
	seats := `, "seat": {"type": "string", "default": "any"}`
	if err := here.Swap(here.Engine, amendable(`"seat"`, seats)); err != nil {
		t.Fatal(err)
	}
	there.Must(token, http.MethodPost, "/api/v1/tickets/b?context=main", `{"name": "B"}`, http.StatusCreated)
	amend(there) // which asks for nothing
	if seat := ticket(here, "a")["seat"]; seat != nil {
		t.Errorf("before the service has filled it in: %v", seat)
	}
	amend(here)
	there.Must(token, http.MethodPost, "/api/v1/tickets/a?context=main", `{"name": "AA"}`, http.StatusOK)
	there.Must(token, http.MethodPost, "/api/v1/tickets/c?context=main", `{"name": "C"}`, http.StatusCreated)
	amend(here)
	amend(there)
	for _, id := range []string{"a", "b", "c"} {
		if found := ticket(here, id); found["seat"] != "any" {
			t.Errorf("%s: %v", id, found)
		}
	}
	// The other set is served last, and asks for something else: the first one leaves it to it.
	if err := there.Swap(there.Engine, amendable(`"row"`, `, "row": {"type": "integer", "default": 1}`)); err != nil {
		t.Fatal(err)
	}
	amend(here)
	amend(there)
	amend(here)
	if found := ticket(there, "b"); found["row"] == nil || found["seat"] != nil {
		t.Errorf("under the other set: %v", found)
	}
	if found := ticket(here, "b"); found["seat"] != "any" {
		t.Errorf("under the first set: %v", found)
	}
	// A set that is rolled back leaves what is filled in, and fills in no more.
	if err := there.Swap(there.Engine, amendable("", seats)); err != nil {
		t.Fatal(err)
	}
	if err := here.Swap(here.Engine, amendable("", `, "seat": {"type": "string"}`)); err != nil {
		t.Fatal(err)
	}
	here.Must(token, http.MethodPost, "/api/v1/tickets/d?context=main", `{"name": "D"}`, http.StatusCreated)
	amend(here)
	if found := ticket(here, "d"); found["seat"] != nil {
		t.Errorf("after the default was taken back: %v", found)
	}
	if err := here.Swap(here.Engine, amendable(`"seat"`, seats)); err != nil {
		t.Fatal(err)
	}
	amend(here)
	if found := ticket(here, "d"); found["seat"] != "any" {
		t.Errorf("after the default was there again: %v", found)
	}
}

// TestCrashAmend kills the process while it fills in defaults, or writes new values of an enum,
// at random moments, beside writes. The next start goes on, and each object is written once.
func TestCrashAmend(t *testing.T) { service.EachStore(t, testCrashAmend) }

func testCrashAmend(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "'make crash'")
	const objects = 1500
	rounds := max(2, min(process.Number(t, "MARQUEE_CRASHES", 2)/2, 12))
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	store, dir := process.CrashStore(t, fresh), t.TempDir()
	required, properties, state := "", "", `, "state": {"enum": ["s"]}`
	set := func() {
		next := process.File(t, filepath.Join(t.TempDir(), "next"), amendableFile(required, properties+state))
		if err := os.Rename(next, filepath.Join(dir, "tickets.json")); err != nil {
			t.Fatal(err)
		}
	}
	set()
	p := process.Serve(t, store, "--application", "none", "--schemas", dir)
	p.SignIn("admin", process.Password)
	token, versions := p.Token, map[string]int{}
	for from := 0; from < objects; from += 500 {
		var list []string
		for i := from; i < from+500; i++ {
			list = append(list, fmt.Sprintf(`{"id": "t%d", "name": "T", "state": "s"}`, i))
		}
		p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tickets?context=main", "["+strings.Join(list, ",")+"]")
	}
	count := func(where string) string {
		a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tickets?context=main&pageSize=1&where="+where, "")
		answer, _ := a.JSON().(map[string]any)
		return fmt.Sprint(answer["totalCount"])
	}
	unfinished := 0
	for round := range rounds {
		// The objects are amended in the order of their ids.
		version := func(id string) string {
			return strings.Split(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tickets/"+id+"?context=main", "").Header.Get("ETag"), "-")[0]
		}
		amended := func() bool { return version("t999") == fmt.Sprintf(`"%d`, round+2) }
		if name := fmt.Sprintf("p%d", round); round%2 == 0 {
			if required != "" {
				required += ", "
			}
			required += `"` + name + `"`
			properties += `, "` + name + `": {"type": "array", "items": {"type": "string"}, "default": ["` + name + `"]}`
		} else {
			state = fmt.Sprintf(`, "state": {"enum": ["s%d"], "x-was-values": {"s": "s%[1]d", "s%d": "s%[1]d"}}`, round, round-2)
		}
		from := p.Stderr.Mark()
		set()
		p.Stderr.Await(t, from, service.Says(process.Loaded))
		after := time.Now().Add(time.Duration(random.Int64N(int64(2 * time.Second))))
		for i := 0; time.Now().Before(after); i++ {
			id := fmt.Sprintf("t%d", i%50)
			a, err := p.Send(http.MethodPost, "/api/v1/tickets/"+id+"?context=main", nil, []byte(fmt.Sprintf(`{"name": "T %d %d"}`, round, i)))
			if err != nil || a.Status != http.StatusOK {
				t.Fatalf("beside the change: %v %v", err, a)
			}
			versions[id]++
		}
		if !amended() {
			unfinished++
		}
		p.Kill()
		process.EndTransactions(t, store)
		if round > 0 {
			process.EndLease(t, store)
		}
		p = process.Serve(t, store, "--application", "none", "--schemas", dir)
		p.Token = token
		p.Eventually("the objects are not amended", amended)
		if name := fmt.Sprintf("p%d", round-round%2); count(name+"="+name) != fmt.Sprint(objects) {
			t.Errorf("round %d: some objects lack a default", round)
		}
	}
	a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=tickets&pageSize=1000", "")
	history, _ := a.JSON().(map[string]any)
	written := map[string]int{}
	for _, entry := range history["results"].([]any) {
		change := entry.(map[string]any)
		if cause, by := change["cause"].(map[string]any); by && cause["code"] == "audit.cause.schema" && change["user"] == nil {
			written[fmt.Sprint(change["params"].(map[string]any)["id"])]++
		}
	}
	for id, n := range written {
		if n > rounds {
			t.Errorf("%s was written %d times for %d sets", id, n, rounds)
		}
	}
	for i := 50; i < objects; i += 100 {
		id := fmt.Sprintf("t%d", i)
		a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tickets/"+id+"?context=main", "")
		if tag := a.Header.Get("ETag"); !strings.HasPrefix(tag, fmt.Sprintf(`"%d-`, rounds+1)) {
			t.Errorf("%s has %s after %d sets", id, tag, rounds)
		}
	}
	p.Stop()
	t.Logf("%d of %d had not ended when the process was killed", unfinished, rounds)
}
