package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// hospital is the folder of the types of a hospital, two of which have the names of
// types of the advertising application.
const hospital = "testdata/hospital"

// TestWithoutAnApplication serves the types of a hospital alone.
func TestWithoutAnApplication(t *testing.T) { service.EachStore(t, testWithoutAnApplication) }

func testWithoutAnApplication(t *testing.T, fresh service.NewStore) {
	c := service.ConverseWith(t, service.NewPlain(t, fresh, os.DirFS(hospital)))
	c.Send("POST", "/api/v1/teams/ward?context=main", `{"name": "Ward", "users": ["`+c.Service.UserID+`"]}`, 201, "")
	c.Send("POST", "/api/v1/teams/x?context=main", `{"name": "X", "sites": ["s"]}`, 201, `{"sites": "<absent>"}`)
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "notes", "object": {"id": "n", "text": "ok", "order": "o"}},
		{"type": "orders", "object": {"id": "o", "patient": "Kari", "dose": 2, "team": "ward", "diagnosis": "secret"}}]}`, 200, "")
	c.Send("GET", "/api/v1/notes/n?context=main", "", 200, `{"text": "ok", "order": {"id": "o"}, "validationWarnings": [{"code": "warning.note.short"}]}`)
	c.Send("GET", "/api/v1/orders?context=main&q=kari&fields=id,diagnosis", "", 200, `{"results": [{"id": "o", "diagnosis": "secret"}]}`)
	c.Send("GET", "/api/v1/orders?context=main&where=dose%3E3", "", 200, `{"results": []}`)
	c.Send("POST", "/api/v1/orders/o?context=main", `{"dose": 0}`, 422, `{"messages": [{"code": "error.value.too.small", "params": {"field": "/dose"}}]}`)
	c.Send("POST", "/api/v1/roles/r?context=main", `{"name": "R", "permissions": ["MANAGE_LAYOUTS"]}`, 422, `{"messages": [{"code": "error.value.enum"}]}`)
	c.Send("GET", "/api/v1/roles/administrator?context=main", "", 200, `{"permissions": ["ALL", "MANAGE_OBJECTS", "MANAGE_SYSTEM"]}`)
	c.Send("GET", "/api/v1/audit?context=main&type=orders&id=o", "", 200, `{"results": [{"code": "audit.object.created"}]}`)
	for _, path := range []string{"sites", "lineitems", "advertisers", "devices", "location", "segments", "assets"} {
		c.Send("GET", "/api/v1/"+path+"?context=main", "", 404, `{"messages": [{"code": "error.type.unknown"}]}`)
	}
	definitions := string(c.Send("GET", "/api/v1/messagedefinitions", "", 200, "").Body)
	process.Wants(t, definitions, "warning.note.short", "error.value.enum")
	process.Shuns(t, definitions, "error.asset", "warning.line.item", "error.layout", "error.creative")
	c.Service.Stop()
	c.Service.Start()
	c.Send("GET", "/api/v1/orders/o?context=main", "", 200, `{"patient": "Kari", "diagnosis": "secret"}`)
}

// TestApplicationOfCommands: every command serves the application that is chosen.
func TestApplicationOfCommands(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	hospital, err := filepath.Abs(hospital)
	if err != nil {
		t.Fatal(err)
	}
	store, file := service.NewSQLite(t), filepath.Join(t.TempDir(), "hospital.ndjson")
	none := []string{"--application", "none", "--schemas", hospital}
	p := process.Serve(t, store, none...)
	p.SignIn(service.Admin, process.Password)
	p.Ask(201, "POST", "/api/v1/orders/o?context=main", `{"patient": "Kari", "diagnosis": "d"}`)
	p.Ask(201, "POST", "/api/v1/notes/n?context=main", `{"text": "Sleeps well", "order": "o"}`)
	p.Ask(404, "GET", "/api/v1/lineitems?context=main", "")
	p.Stop()
	run := func(args ...string) string {
		return process.Run(t, nil, slices.Concat(args, none, []string{"--store", store})...)
	}
	process.Wants(t, run("check", "--quiet"), "nothing is wrong")
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
		cmd := process.Command(t, nil, append(args, "--store", store)...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%q of another application: %v", args, err)
		}
		process.Wants(t, string(out), "the store was made for the application none, and cannot be opened for advertising: use --application none, or another store")
	}
	p = process.Serve(t, store, none...)
	p.SignIn(service.Admin, process.Password)
	process.Wants(t, string(p.Ask(200, "GET", "/api/v1/orders/o?context=main", "").Body), `"patient":"Ola"`)
	p.Stop()
	process.Wants(t, process.Run(t, nil, "schema", "lint", hospital, "--application", "none"), "2 schemas, no mistakes")
	for says, args := range map[string][]string{
		"this file name is taken by a built-in type":    {"schema", "lint", hospital},
		"--demo belongs to the application advertising": {"serve", "--application", "none", "--demo"},
		"--cdn-url belongs to the application":          {"serve", "--application", "none", "--cdn-url", "https://cdn.example.com"},
		"there is no resource type":                     {"import", "locations", file, "--application", "none", "--store", store},
		`--application must be one of`:                  {"serve", "--application", "hospital"},
		"the store has objects of notes and orders":     {"check", "--application", "none", "--store", store},
	} {
		cmd := process.Command(t, nil, args...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%q was accepted", args)
		}
		process.Wants(t, string(out), says)
	}
}
