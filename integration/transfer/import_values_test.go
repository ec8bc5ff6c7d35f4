package transfer

import (
	"net/http"
	"path/filepath"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// visits is a type with the keywords about the first values of objects.
const visits = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "visits"}, "type": "object", "properties": {
	"name": {"type": "string"},
	"state": {"type": "string", "enum": ["NEW", "DONE"], "x-initial": ["NEW"]},
	"begun": {"type": "string", "format": "date-time", "x-default": "now"},
	"by": {"type": "string", "x-default": "caller"}}}`

// TestImportValues: an import brings objects that began elsewhere, with their values.
func TestImportValues(t *testing.T) { eachImport(t, testImportValues) }

func testImportValues(t *testing.T, fresh service.NewStore) {
	uri, folder := process.ImportMade(t, fresh), t.TempDir()
	process.File(t, filepath.Join(folder, "visits.json"), visits)
	lines := process.ImportFile(t, `{"id": "old", "name": "Old", "state": "DONE", "begun": "2001-01-01T00:00:00Z"}`, `{"id": "new", "name": "New"}`)
	process.Wants(t, process.ImportRun(t, 0, uri, "visits", lines, "--context", "main", "--schemas", folder), "2 objects: 2 new")
	table := process.File(t, filepath.Join(t.TempDir(), "data.csv"), "id,state,begun\ncsv,DONE,2001-01-01T00:00:00Z\n")
	process.Wants(t, process.ImportRun(t, 0, uri, "visits", table, "--context", "main", "--schemas", folder), "1 object: 1 new")
	p := process.Serve(t, uri, "--schemas", folder)
	p.SignIn("admin", process.Password)
	for _, id := range []string{"old", "csv"} {
		a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/visits/"+id+"?context=main", "")
		process.Wants(t, string(a.Body), `"state":"DONE"`, `"begun":"2001-01-01T00:00:00.000Z"`)
	}
	a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/visits/new?context=main", "")
	process.Wants(t, string(a.Body), `"begun":"2`)
	process.Shuns(t, string(a.Body), `"by":`)
}
