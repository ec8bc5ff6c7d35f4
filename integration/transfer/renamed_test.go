package transfer

import (
	"net/http"
	"path/filepath"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestImportRenamed: an export from before a property was renamed can be imported, by either
// name, and an export has the new one.
func TestImportRenamed(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testImportRenamed)
}

func testImportRenamed(t *testing.T, fresh service.NewStore) {
	uri, folder := process.ImportMade(t, fresh), t.TempDir()
	process.File(t, filepath.Join(folder, "books.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "books"}, "type": "object",
		"properties": {"title": {"type": "string", "x-was": "heading"}, "after": {"x-ref": "books", "x-was": "follows"}}}`)
	bring := func(file, want string) {
		t.Helper()
		process.Wants(t, process.ImportRun(t, 0, uri, "books", file, "--context", "main", "--schemas", folder), want)
	}
	bring(process.ImportFile(t, `{"id": "b", "heading": "B", "follows": "a"}`, `{"id": "a", "heading": "A", "title": "A"}`), "2 objects: 2 new")
	bring(process.File(t, filepath.Join(t.TempDir(), "data.csv"), "id,heading,after\nc,C,a\n"), "1 object: 1 new")
	p := process.Serve(t, uri, "--schemas", folder)
	p.SignIn("admin", process.Password)
	a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/books/b?context=main", "")
	process.Wants(t, string(a.Body), `"title":"B"`, `"after":{"id":"a"`)
	a = p.Ask(http.StatusOK, http.MethodGet, "/api/v1/books/c?context=main", "")
	process.Wants(t, string(a.Body), `"title":"C"`, `"after":{"id":"a"`)
	p.Stop()
	text := process.ExportRun(t, uri, "books", "--context", "main", "--schemas", folder)
	process.Wants(t, text, `"title":"B"`, `"after":"a"`)
	process.Shuns(t, text, "heading", "follows")
	// The type is renamed, too.
	process.File(t, filepath.Join(folder, "books.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "tomes", "was": "books"}, "type": "object",
		"properties": {"title": {"type": "string", "x-was": "heading"}, "after": {"x-ref": "tomes", "x-was": "follows"}}}`)
	bring(process.ImportFile(t, `{"id": "d", "heading": "D", "follows": "a"}`), "1 object: 1 new")
	envelopes := process.ImportFile(t, `{"type": "books", "object": {"id": "e", "heading": "E"}}`, `{"type": "tomes", "object": {"id": "f", "title": "F", "after": "e"}}`)
	process.Wants(t, process.ImportRun(t, 0, uri, envelopes, "--context", "main", "--schemas", folder), "2 objects: 2 new")
	for _, name := range []string{"books", "tomes"} {
		process.Wants(t, process.ExportRun(t, uri, name, "--context", "main", "--schemas", folder), `"title":"E"`, `"after":"e"`)
	}
	process.Wants(t, process.ExportRun(t, uri, "books", "users", "--context", "main", "--schemas", folder), `{"type":"tomes","object":{"id":"f"`)
}
