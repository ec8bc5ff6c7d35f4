package transfer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/engine"
)

// exported returns an export of all notes and folders.
func exported(t *testing.T, e *engine.Engine) string {
	t.Helper()
	x := Export{Engine: e, Context: "main", Envelopes: true}
	for _, name := range []string{"notes", "folders"} {
		found, err := e.Type(name)
		if err != nil {
			t.Fatal(err)
		}
		x.Types = append(x.Types, found)
	}
	x.Types = Order(e.Registry(), x.Types)
	path := filepath.Join(t.TempDir(), "export.ndjson")
	if _, err := x.Write(t.Context(), opened(t, path)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An export can be imported into another store, and results in the same export
// there.
func TestExportCanBeImported(t *testing.T) {
	first, second := newEngine(t), newEngine(t)
	run(t, importOf(t, first,
		`{"type": "folders", "object": {"id": "a", "name": "A", "objectState": "INACTIVE"}}`,
		`{"type": "notes", "object": {"id": "n", "text": "ü \"quoted\"", "folder": {"id": "a"}}}`,
	))
	want := `{"type":"folders","object":{"id":"a","objectState":"INACTIVE","name":"A"}}
{"type":"notes","object":{"id":"n","objectState":"ACTIVE","folder":"a","text":"ü \"quoted\""}}
`
	text := exported(t, first)
	if text != want {
		t.Errorf("the export is\n%s", text)
	}
	run(t, importOf(t, second, strings.TrimSuffix(text, "\n")))
	if again := exported(t, second); again != text {
		t.Errorf("after an import, the export is\n%s", again)
	}
}

// Types come after those that they refer to, otherwise by name.
func TestOrder(t *testing.T) {
	registry := newEngine(t).Registry()
	var names []string
	for _, found := range Order(registry, registry.Types()) {
		names = append(names, found.Name)
	}
	if got := strings.Join(names, " "); got != "networks folders notes roles users teams tokens" {
		t.Errorf("the order is %s", got)
	}
}
