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
	"by": {"type": "string", "x-default": "caller"},
	"number": {"type": "string", "x-sequence": {"start": 10, "format": "V{n}"}}}}`

// TestImportValues: an import brings objects that began elsewhere, with their values and
// numbers, and what is new gets those of the service.
func TestImportValues(t *testing.T) {
	process.SkipLong(t)
	eachImport(t, testImportValues)
}

func testImportValues(t *testing.T, fresh service.NewStore) {
	uri, folder := process.ImportMade(t, fresh), t.TempDir()
	process.File(t, filepath.Join(folder, "visits.json"), visits)
	bring := func(uri, file, want string) {
		t.Helper()
		process.Wants(t, process.ImportRun(t, 0, uri, "visits", file, "--context", "main", "--schemas", folder), want)
	}
	bring(uri, process.ImportFile(t, `{"id": "old", "name": "Old", "state": "DONE", "begun": "2001-01-01T00:00:00Z", "number": "V11"}`, `{"id": "new", "name": "New"}`,
		`{"id": "newer"}`, `{"id": "far", "number": "V500"}`, `{"id": "other", "number": "A1"}`), "5 objects: 5 new")
	bring(uri, process.File(t, filepath.Join(t.TempDir(), "data.csv"), "id,state,begun,number\ncsv,DONE,2001-01-01T00:00:00Z,V12\n,NEW,,\n"), "2 objects: 2 new")
	p := process.Serve(t, uri, "--schemas", folder)
	p.SignIn("admin", process.Password)
	numbers := map[string]bool{}
	check := func(id string, want ...string) {
		t.Helper()
		a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/visits/"+id+"?context=main", "")
		process.Wants(t, string(a.Body), want...)
	}
	check("old", `"state":"DONE"`, `"begun":"2001-01-01T00:00:00.000Z"`, `"number":"V11"`)
	check("csv", `"state":"DONE"`, `"begun":"2001-01-01T00:00:00.000Z"`, `"number":"V12"`)
	check("new", `"begun":"2`, `"number":"V`)
	check("far", `"number":"V500"`)
	check("other", `"number":"A1"`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/visits/later?context=main", `{"number": "V3"}`)
	a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/visits?context=main", "")
	list, _ := a.JSON().(map[string]any)["results"].([]any)
	for _, one := range list {
		object, _ := one.(map[string]any)
		number, _ := object["number"].(string)
		if numbers[number] || number == "" || object["id"] == "later" && len(number) != len("V501") {
			t.Errorf("the number of %v is %q", object["id"], number)
		}
		numbers[number] = true
	}
	p.Stop()
	// What is exported can be imported, with its numbers.
	exported := process.ExportRun(t, uri, "visits", "--context", "main", "--schemas", folder)
	other := process.ImportMade(t, fresh)
	bring(other, process.File(t, filepath.Join(t.TempDir(), "exported.ndjson"), exported), "8 objects: 8 new")
	if again := process.ExportRun(t, other, "visits", "--context", "main", "--schemas", folder); again != exported {
		t.Errorf("%s\nwas exported as\n%s", exported, again)
	}
}
