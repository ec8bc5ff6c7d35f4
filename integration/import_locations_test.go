package integration

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestImportLocations puts a gazetteer beside that of the program: a server
// that starts, and on MongoDB one that runs, searches both.
func TestImportLocations(t *testing.T) { eachStore(t, testImportLocations) }

func testImportLocations(t *testing.T, fresh newStore) {
	uri := importMade(t, fresh)
	var running *proc
	if shared := strings.HasPrefix(uri, "mongodb"); shared {
		running = procServe(t, uri, "--clock-interval", "100ms")
		running.signIn("admin", procPassword)
	}
	out := importRun(t, 1, uri, "locations", importFile(t, `{"id": 1, "type": "CITY", "name": "Atlantis"}`, `{"id": 2, "type": "TOWN", "name": "Ys"}`))
	procWants(t, out, "line 2 has an invalid value of type; nothing was imported")
	out = importRun(t, 1, uri, "locations", importFile(t, `{"id": 1, "type": "CITY", "name": "Atlantis"}`, `{"id": 1, "type": "CITY", "name": "Ys"}`))
	procWants(t, out, "line 2 has the id of an earlier line; nothing was imported")
	procWants(t, importRun(t, 1, uri, "locations", importFile(t, `{}`), "--context", "main"), "leave --context out")

	out = importRun(t, 0, uri, "locations", importFile(t, `{"id": 1, "type": "CITY", "name": "Atlantis", "region": "Ocean", "country": "Nowhere", "population": 7}`,
		`{"id": 3143244, "type": "CITY", "name": "Oslo the Great"}`))
	procWants(t, out, "2 locations were imported")
	sees := func(p *proc) bool {
		a := p.ask(http.StatusOK, http.MethodGet, "/api/v1/location?q=atlantis", "")
		return strings.Contains(string(a.body), `"id":1,"type":"CITY","name":"Atlantis","context":"Ocean, Nowhere"`)
	}
	if running != nil {
		for end := time.Now().Add(30 * time.Second); !sees(running); {
			if time.Now().After(end) {
				t.Fatal("a running server does not find the imported locations")
			}
		}
		running.stop()
	}
	p := procServe(t, uri)
	p.signIn("admin", procPassword)
	if !sees(p) {
		t.Error("an imported location is not found")
	}
	a := p.ask(http.StatusCreated, http.MethodPost, "/api/v1/lineitems/a?context=main", `{"name": "A", "targeting": {"namedLocationTarget": {"locations": [{"id": 1}, {"id": 3143244}]}}}`)
	procWants(t, string(a.body), `{"id":1,"type":"CITY","name":"Atlantis","context":"Ocean, Nowhere"},{"id":3143244,"type":"CITY","name":"Oslo the Great","context":""}`)
	p.stop()

	importRun(t, 0, uri, "locations", importFile(t))
	p = procServe(t, uri)
	p.signIn("admin", procPassword)
	if sees(p) {
		t.Error("a location is found that is imported no longer")
	}
	a = p.ask(http.StatusOK, http.MethodGet, "/api/v1/lineitems/a?context=main", "")
	procWants(t, string(a.body), `{"id":1},{"id":3143244,"type":"CITY","name":"Oslo"`)
	p.stop()
}
