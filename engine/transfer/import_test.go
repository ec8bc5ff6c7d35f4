package transfer

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/auth/rights"
	"marquee/engine"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/schemas/base"
)

// folders and notes are types of which each note refers to a folder, and a
// folder can refer to another one.
var folders = fstest.MapFS{
	"folders.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "folders"}, "type": "object", "required": ["name"],
		"properties": {"name": {"type": "string"}, "in": {"x-ref": {"type": "folders"}}}}`)},
	"notes.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "notes"}, "type": "object", "required": ["text", "folder"],
		"properties": {"text": {"type": "string", "maxLength": 20}, "folder": {"x-ref": {"type": "folders"}}}}`)},
}

// newEngine returns an engine on an empty SQLite store with the network main.
func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	registry, err := schema.Load(schema.Source{FS: base.FS}, schema.Source{Name: "test", FS: folders})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	e, err := engine.New(t.Context(), engine.Config{Store: s, Access: rights.Access{}}, registry)
	if err != nil {
		t.Fatal(err)
	}
	run(t, importOf(t, e, `{"type": "networks", "object": {"id": "main", "name": "Main"}}`))
	return e
}

// importOf returns an import of envelopes into the network main.
func importOf(t *testing.T, e *engine.Engine, lines ...string) Import {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input.ndjson")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return Import{Target: Local{Engine: e}, Input: opened(t, path), Context: "main"}
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// run runs an import to its end.
func run(t *testing.T, im Import) Status {
	t.Helper()
	r, err := im.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.Status()
}

// stored returns the ids of all notes and folders.
func stored(t *testing.T, e *engine.Engine) (ids []string) {
	t.Helper()
	err := e.Store.Read(t.Context(), func(s store.Snapshot) error {
		ids = nil
		for _, name := range []string{"folders", "notes"} {
			err := s.Scan(t.Context(), name, store.Key{}, 1000, func(r *store.Record) error {
				ids = append(ids, r.ID)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// Lines can be in any order: one waits for the objects that it refers to, and
// circular references are written together.
func TestImportWaitsForReferences(t *testing.T) {
	e := newEngine(t)
	im := importOf(t, e,
		`{"type": "notes", "object": {"id": "n", "text": "first", "folder": "a"}}`,
		`# a comment`,
		``,
		`{"type": "folders", "object": {"id": "a", "name": "A", "in": "b"}}`,
		`{"type": "folders", "object": {"id": "b", "name": "B", "in": "a"}}`,
	)
	im.Chunk = 1
	status := run(t, im)
	if got := strings.Join(stored(t, e), " "); got != "a b n" {
		t.Errorf("stored are %s", got)
	}
	if want := (Counts{Objects: 3, Created: 3}); status.Counts != want {
		t.Errorf("the result is %+v, want %+v", status.Counts, want)
	}
}

// A later line of an object does not overtake an earlier one that waits.
func TestLaterLineOfAnObjectWaits(t *testing.T) {
	e := newEngine(t)
	im := importOf(t, e,
		`{"type": "notes", "object": {"id": "n", "text": "old", "folder": "a"}}`,
		`{"type": "notes", "object": {"id": "n", "text": "new"}}`,
		`{"type": "folders", "object": {"id": "a", "name": "A"}}`,
	)
	im.Chunk = 1
	if status := run(t, im); status.Created != 2 || status.Changed != 1 {
		t.Errorf("the result is %+v", status.Counts)
	}
	if text := exported(t, e); !strings.Contains(text, `"text":"new"`) {
		t.Errorf("stored is\n%s", text)
	}
}

// Invalid lines are rejected alone. The report contains them with their messages,
// and can be imported once it is corrected.
func TestImportRejectsInvalidLines(t *testing.T) {
	e := newEngine(t)
	im := importOf(t, e,
		`{"type": "folders", "object": {"id": "a", "name": "A"}}`,
		`{"type": "folders", "object": {"id": "b", "name": 7}}`,
		`{"type": "notes", "object": {"id": "n", "text": "x", "folder": "b"}}`,
		`{"type": "notes", "object": {"id": "m", "text": "x", "folder": "a"}}`,
	)
	im.Report = filepath.Join(t.TempDir(), "rejected")
	if status := run(t, im); status.Objects != 2 || status.Rejected != 2 {
		t.Errorf("the result is %+v", status.Counts)
	}
	report, err := os.ReadFile(im.Report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# line 2: /name must be of type string.\n", "# line 3: The object b of type folders that /folder refers to does not exist.\n", `"error.value.type"`} {
		if !strings.Contains(string(report), want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	corrected := strings.Replace(string(report), `"name": 7`, `"name": "B"`, 1)
	if status := run(t, importOf(t, e, corrected)); status.Objects != 2 || status.Rejected != 0 {
		t.Errorf("the result of the corrected report is %+v", status.Counts)
	}
}

// An import with a progress file continues where it was interrupted, unless the
// file or the settings have changed.
func TestImportContinues(t *testing.T) {
	e := newEngine(t)
	im := importOf(t, e,
		`{"type": "folders", "object": {"name": "A"}}`,
		`{"type": "folders", "object": {"name": "B"}}`,
		`{"type": "folders", "object": {"name": "C"}}`,
	)
	im.Chunk, im.Progress = 1, filepath.Join(t.TempDir(), "progress")
	ctx, interrupt := context.WithCancel(t.Context())
	im.Each = func(s Status) {
		if s.Lines == 2 {
			interrupt()
		}
	}
	interrupted, err := im.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := interrupted.Run(ctx); err == nil {
		t.Fatal("the import was not interrupted")
	}
	if err := interrupted.Close(); err != nil {
		t.Fatal(err)
	}
	again := func(change func(*Import)) (*Importer, error) {
		im := im
		im.Input, im.Each = opened(t, im.Input.Name()), nil
		change(&im)
		return im.Open()
	}
	if _, err := again(func(im *Import) { im.Context = "other" }); err == nil || !strings.Contains(err.Error(), "--context was") {
		t.Errorf("with another network: %v", err)
	}
	_, err = again(func(im *Import) {
		if _, err := im.Input.WriteAt([]byte("#"), 0); err != nil {
			t.Fatal(err)
		}
	})
	if err == nil || !strings.Contains(err.Error(), "has changed since") {
		t.Errorf("with another file: %v", err)
	}
	r, err := again(func(im *Import) {
		if _, err := im.Input.WriteAt([]byte("{"), 0); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if line, resumed := r.Resumed(); line != 2 || !resumed {
		t.Errorf("continues after line %d", line)
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(stored(t, e)); n != 3 || r.Status().Created != 3 {
		t.Errorf("%d objects are stored, %d created", n, r.Status().Created)
	}
	if _, err := os.Stat(im.Progress); !os.IsNotExist(err) {
		t.Errorf("the progress file remains: %v", err)
	}
}

// A file of another form than the command expects is an error of the import, not
// of all its lines.
func TestFirstLineShowsTheForm(t *testing.T) {
	e := newEngine(t)
	folder, err := e.Type("folders")
	if err != nil {
		t.Fatal(err)
	}
	for line, kind := range map[string]*schema.Type{
		`{"name": "A"}`: nil,
		`{"type": "folders", "object": {"name": "A"}}`: folder,
	} {
		im := importOf(t, e, line)
		im.Type = kind
		r, err := im.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "line 1 is") {
			t.Errorf("%s: %v", line, err)
		}
		r.Close()
	}
}
