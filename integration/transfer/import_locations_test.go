package transfer

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestImportLocations puts a gazetteer beside that of the program: a server
// that starts, and on MongoDB one that runs, searches both.
func TestImportLocations(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testImportLocations)
}

func testImportLocations(t *testing.T, fresh service.NewStore) {
	uri := process.ImportMade(t, fresh)
	var running *process.Process
	if shared := strings.HasPrefix(uri, "mongodb"); shared {
		running = process.Serve(t, uri, "--clock-interval", "100ms")
		running.SignIn("admin", process.Password)
	}
	out := process.ImportRun(t, 1, uri, "locations", process.ImportFile(t, `{"id": 1, "type": "CITY", "name": "Atlantis"}`, `{"id": 2, "type": "TOWN", "name": "Ys"}`))
	process.Wants(t, out, "line 2 has an invalid value of type; nothing was imported")
	out = process.ImportRun(t, 1, uri, "locations", process.ImportFile(t, `{"id": 1, "type": "CITY", "name": "Atlantis"}`, `{"id": 1, "type": "CITY", "name": "Ys"}`))
	process.Wants(t, out, "line 2 has the id of an earlier line; nothing was imported")
	process.Wants(t, process.ImportRun(t, 1, uri, "locations", process.ImportFile(t, `{}`), "--context", "main"), "leave --context out")

	out = process.ImportRun(t, 0, uri, "locations", process.ImportFile(t, `{"id": 1, "type": "CITY", "name": "Atlantis", "region": "Ocean", "country": "Nowhere", "population": 7}`,
		`{"id": 3143244, "type": "CITY", "name": "Oslo the Great"}`))
	process.Wants(t, out, "2 locations were imported")
	sees := func(p *process.Process) bool {
		a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/location?q=atlantis", "")
		return strings.Contains(string(a.Body), `"id":1,"type":"CITY","name":"Atlantis","context":"Ocean, Nowhere"`)
	}
	if running != nil {
		for end := time.Now().Add(30 * time.Second); !sees(running); <-time.After(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("a running server does not find the imported locations")
			}
		}
		running.Stop()
	}
	p := process.Serve(t, uri)
	p.SignIn("admin", process.Password)
	if !sees(p) {
		t.Error("an imported location is not found")
	}
	a := p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/lineitems/a?context=main", `{"name": "A", "targeting": {"namedLocationTarget": {"locations": [{"id": 1}, {"id": 3143244}]}}}`)
	process.Wants(t, string(a.Body), `{"id":1,"type":"CITY","name":"Atlantis","context":"Ocean, Nowhere"},{"id":3143244,"type":"CITY","name":"Oslo the Great","context":""}`)
	p.Stop()

	process.ImportRun(t, 0, uri, "locations", process.ImportFile(t))
	p = process.Serve(t, uri)
	p.SignIn("admin", process.Password)
	if sees(p) {
		t.Error("a location is found that is imported no longer")
	}
	a = p.Ask(http.StatusOK, http.MethodGet, "/api/v1/lineitems/a?context=main", "")
	process.Wants(t, string(a.Body), `{"id":1},{"id":3143244,"type":"CITY","name":"Oslo"`)
	p.Stop()
}
