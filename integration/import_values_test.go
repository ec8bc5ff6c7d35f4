package integration

import (
	"net/http"
	"path/filepath"
	"testing"
)

// visits is a type with the keywords about the first values of objects.
const visits = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "visits"}, "type": "object", "properties": {
	"name": {"type": "string"},
	"state": {"type": "string", "enum": ["NEW", "DONE"], "x-initial": ["NEW"]},
	"begun": {"type": "string", "format": "date-time", "x-default": "now"},
	"by": {"type": "string", "x-default": "caller"}}}`

// TestImportValues: an import brings objects that began elsewhere, with their values.
func TestImportValues(t *testing.T) { eachImport(t, testImportValues) }

func testImportValues(t *testing.T, fresh newStore) {
	uri, folder := importMade(t, fresh), t.TempDir()
	procFile(t, filepath.Join(folder, "visits.json"), visits)
	lines := importFile(t, `{"id": "old", "name": "Old", "state": "DONE", "begun": "2001-01-01T00:00:00Z"}`, `{"id": "new", "name": "New"}`)
	procWants(t, importRun(t, 0, uri, "visits", lines, "--context", "main", "--schemas", folder), "2 objects: 2 new")
	table := procFile(t, filepath.Join(t.TempDir(), "data.csv"), "id,state,begun\ncsv,DONE,2001-01-01T00:00:00Z\n")
	procWants(t, importRun(t, 0, uri, "visits", table, "--context", "main", "--schemas", folder), "1 object: 1 new")
	p := procServe(t, uri, "--schemas", folder)
	p.signIn("admin", procPassword)
	for _, id := range []string{"old", "csv"} {
		a := p.ask(http.StatusOK, http.MethodGet, "/api/v1/visits/"+id+"?context=main", "")
		procWants(t, string(a.body), `"state":"DONE"`, `"begun":"2001-01-01T00:00:00.000Z"`)
	}
	a := p.ask(http.StatusOK, http.MethodGet, "/api/v1/visits/new?context=main", "")
	procWants(t, string(a.body), `"begun":"2`)
	procShuns(t, string(a.body), `"by":`)
}
