package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hospital is the folder of the types of a hospital, two of which have the names of
// types of the advertising application.
const hospital = "testdata/hospital"

// TestWithoutAnApplication serves the types of a hospital alone.
func TestWithoutAnApplication(t *testing.T) { eachStore(t, testWithoutAnApplication) }

func testWithoutAnApplication(t *testing.T, fresh newStore) {
	c := converseWith(t, newPlainService(t, fresh, os.DirFS(hospital)))
	c.send("POST", "/api/v1/teams/ward?context=main", `{"name": "Ward", "users": ["`+c.s.userID+`"]}`, 201, "")
	c.send("POST", "/api/v1/teams/x?context=main", `{"name": "X", "sites": ["s"]}`, 201, `{"sites": "<absent>"}`)
	c.send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "notes", "object": {"id": "n", "text": "ok", "order": "o"}},
		{"type": "orders", "object": {"id": "o", "patient": "Kari", "dose": 2, "team": "ward", "diagnosis": "secret"}}]}`, 200, "")
	c.send("GET", "/api/v1/notes/n?context=main", "", 200, `{"text": "ok", "order": {"id": "o"}, "validationWarnings": [{"code": "warning.note.short"}]}`)
	c.send("GET", "/api/v1/orders?context=main&q=kari&fields=id,diagnosis", "", 200, `{"results": [{"id": "o", "diagnosis": "secret"}]}`)
	c.send("GET", "/api/v1/orders?context=main&where=dose%3E3", "", 200, `{"results": []}`)
	c.send("POST", "/api/v1/orders/o?context=main", `{"dose": 0}`, 422, `{"messages": [{"code": "error.value.too.small", "params": {"field": "/dose"}}]}`)
	c.send("POST", "/api/v1/roles/r?context=main", `{"name": "R", "permissions": ["MANAGE_LAYOUTS"]}`, 422, `{"messages": [{"code": "error.value.enum"}]}`)
	c.send("GET", "/api/v1/roles/administrator?context=main", "", 200, `{"permissions": ["MANAGE_OBJECTS", "MANAGE_SYSTEM"]}`)
	c.send("GET", "/api/v1/audit?context=main&type=orders&id=o", "", 200, `{"results": [{"code": "audit.object.created"}]}`)
	for _, path := range []string{"sites", "lineitems", "advertisers", "devices", "location", "segments", "assets"} {
		c.send("GET", "/api/v1/"+path+"?context=main", "", 404, `{"messages": [{"code": "error.type.unknown"}]}`)
	}
	definitions := string(c.send("GET", "/api/v1/messagedefinitions", "", 200, "").body)
	procWants(t, definitions, "warning.note.short", "error.value.enum")
	procShuns(t, definitions, "error.asset", "warning.line.item", "error.layout", "error.creative")
	c.s.stop()
	c.s.start()
	c.send("GET", "/api/v1/orders/o?context=main", "", 200, `{"patient": "Kari", "diagnosis": "secret"}`)
}

// TestApplicationOfCommands: every command serves the application that is chosen.
func TestApplicationOfCommands(t *testing.T) {
	t.Parallel()
	hospital, err := filepath.Abs(hospital)
	if err != nil {
		t.Fatal(err)
	}
	store, file := newSQLite(t), filepath.Join(t.TempDir(), "hospital.ndjson")
	none := []string{"--application", "none", "--schemas", hospital}
	p := procServe(t, store, none...)
	p.signIn(admin, procPassword)
	p.ask(201, "POST", "/api/v1/orders/o?context=main", `{"patient": "Kari", "diagnosis": "d"}`)
	p.ask(201, "POST", "/api/v1/notes/n?context=main", `{"text": "Sleeps well", "order": "o"}`)
	p.ask(404, "GET", "/api/v1/lineitems?context=main", "")
	p.stop()
	run := func(args ...string) string {
		return procRun(t, nil, slices.Concat(args, none, []string{"--store", store})...)
	}
	procWants(t, run("check", "--quiet"), "nothing is wrong")
	run("export", "--context", "main", "--output", file)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), "Kari", "Ola")), 0o600); err != nil {
		t.Fatal(err)
	}
	run("import", file, "--context", "main")
	for _, args := range [][]string{{"serve"}, {"check"}, {"export", "--context", "main"}, {"import", file, "--context", "main"}} {
		cmd := procCommand(t, nil, append(args, "--store", store)...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%q of another application: %v", args, err)
		}
		procWants(t, string(out), "the store was made for the application none, and cannot be opened for advertising: use --application none, or another store")
	}
	p = procServe(t, store, none...)
	p.signIn(admin, procPassword)
	procWants(t, string(p.ask(200, "GET", "/api/v1/orders/o?context=main", "").body), `"patient":"Ola"`)
	p.stop()
	procWants(t, procRun(t, nil, "schema", "lint", hospital, "--application", "none"), "2 schemas, no mistakes")
	for says, args := range map[string][]string{
		"this file name is taken by a built-in type":    {"schema", "lint", hospital},
		"--demo belongs to the application advertising": {"serve", "--application", "none", "--demo"},
		"--cdn-url belongs to the application":          {"serve", "--application", "none", "--cdn-url", "https://cdn.example.com"},
		"there is no resource type":                     {"import", "locations", file, "--application", "none", "--store", store},
		`--application must be one of`:                  {"serve", "--application", "hospital"},
		"the store has objects of notes and orders":     {"check", "--application", "none", "--store", store},
	} {
		cmd := procCommand(t, nil, args...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%q was accepted", args)
		}
		procWants(t, string(out), says)
	}
}
