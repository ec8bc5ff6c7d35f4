package program

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestErasedTraces: large requests and responses, exports, searches and refused writes of
// personal values, and an upload during which the process is killed, leave nothing of them
// in the log and in the temporary folder; after an erasure, nothing is left in the store
// either.
func TestErasedTraces(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testErasedTraces)
}

func testErasedTraces(t *testing.T, fresh service.NewStore) {
	uri, folder, temporary := fresh(t), t.TempDir(), t.TempDir()
	process.File(t, filepath.Join(folder, "persons.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Person",
		"x-resource": {"path": "persons", "search": ["name"], "index": ["name"], "unique": ["name"], "label": "name"}, "type": "object",
		"properties": {"name": {"type": "string", "x-personal": true}, "note": {"type": "string", "maxLength": 3000, "x-personal": true}, "n": {"type": "integer"}}}`)
	env := []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "TMPDIR=" + temporary}
	printed := ""
	serve := func() *process.Process {
		p := process.ServeWith(t, uri, env, "--application", "none", "--schemas", folder, "--log-level", "debug")
		p.SignIn("admin", process.Password)
		return p
	}
	const persons = 60
	all := service.ArrayOf(persons, func(i int) string {
		return fmt.Sprintf(`{"id": "p%d", "name": "geheim %d", "note": "geheim %s"}`, i, i, strings.Repeat("x", 2000))
	})
	p := serve()
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/persons?context=main", all)
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/persons?context=main&pageSize=1000", "")
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/persons?context=main&q=geheim&where=name%3Dgeheim%201", "")
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=persons&pageSize=1000", "")
	p.Ask(http.StatusBadRequest, http.MethodPost, "/api/v1/persons?context=main", `[{"name": "geheim" geheim}]`)
	p.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/persons?context=main", `[{"name": "geheim 1", "note": ["geheim"], "n": "geheim"}]`)
	p.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/persons?context=main", `[{"name": "geheim 1"}]`)
	p.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/persons/none?context=main", "")
	// A request whose body is never complete: what has come of it is in a file without a name.
	reader, writer := io.Pipe()
	request, err := http.NewRequest(http.MethodPost, p.URL+"/api/v1/persons?context=main", reader)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+p.Token)
	request.Header.Set("Content-Type", "application/json")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if response, err := p.Client.Do(request); err == nil {
			response.Body.Close()
		}
	}()
	if _, err := io.WriteString(writer, strings.Repeat(all[:len(all)-1]+",", 4)); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	writer.Close()
	<-ended
	printed += p.Printed()
	exported := filepath.Join(t.TempDir(), "exported.ndjson")
	printed += process.Run(t, []string{"TMPDIR=" + temporary}, "export", "persons", "--context", "main", "--output", exported, "--store", uri, "--application", "none", "--schemas", folder)

	p = serve()
	for i := range persons {
		p.Ask(http.StatusOK, http.MethodPost, fmt.Sprintf("/api/v1/persons/p%d/erase?context=main", i), "")
		if i == 0 && !bytes.Contains(service.AtRest(t, uri), []byte("geheim")) {
			t.Error("the store has no other names")
		}
	}
	p.Stop()
	printed += p.Printed()
	if bytes.Contains(service.AtRest(t, uri), []byte("geheim")) {
		t.Error("a name is left in the store")
	}
	process.Shuns(t, strings.ReplaceAll(printed, exported, ""), "geheim")
	err = filepath.WalkDir(temporary, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("geheim")) {
			t.Errorf("%s has a name", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
