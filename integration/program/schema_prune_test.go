package program

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSchemaPrune lists the values of properties that are no longer declared, and removes
// them, beside a server and without one. Nothing else of the objects changes.
func TestSchemaPrune(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaPrune)
}

func testSchemaPrune(t *testing.T, fresh service.NewStore) {
	uri, dir := fresh(t), t.TempDir()
	unique := ""
	set := func(in, properties string) {
		next := process.File(t, filepath.Join(t.TempDir(), "next"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Order", "x-resource": {"path": "tickets", "unique": ["name"`+unique+`]},
			"type": "object", "properties": {"name": {"type": "string"}, "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}`+in+`}}}`+properties+`}}`)
		if err := os.Rename(next, filepath.Join(dir, "tickets.json")); err != nil {
			t.Fatal(err)
		}
	}
	at := []string{"--store", uri, "--schemas", dir}
	run := func(args ...string) string {
		t.Helper()
		return process.Run(t, nil, append(args, at...)...)
	}
	refused := func(says string, args ...string) {
		t.Helper()
		_, said := process.Answer(t, 2, nil, append(append([]string{"schema", "prune"}, args...), at...)...)
		process.Wants(t, said, says)
	}
	const fax, title = `, "fax": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}`, `, "heading": {"type": "string"}`
	set(`, "fax": {"type": "string"}`, fax+title)
	p := process.Serve(t, uri, "--schemas", dir)
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tickets?context=main", `[{"id": "a", "name": "A", "fax": "11", "tags": ["t"], "heading": "H", "lines": [{"n": 1, "fax": "22"}, {"n": 2}]}, {"id": "b", "name": "B", "lines": [{"fax": "33"}]}, {"id": "c", "name": "C"}]`)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tickets/a?context=main", `{"fax": "44"}`)
	process.Shuns(t, run("schema", "show", "tickets"), "NOT DECLARED")
	from := p.Stderr.Mark()
	set("", `, "title": {"type": "string", "x-was": "heading"}`)
	p.Stderr.Await(t, from, service.Says(process.Loaded))
	before := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tickets/a?context=main", "").JSON().(map[string]any)
	if before["fax"] != nil || before["title"] != "H" {
		t.Fatalf("before: %v", before)
	}
	process.Wants(t, run("schema", "show", "tickets"), "\nNOT DECLARED  OBJECTS\n/fax          1\n/lines/*/fax  2\n/tags         1\n")

	refused("there is no type nothing", "nothing", "fax")
	refused("declares name", "tickets", "name")
	refused("declares heading, or stores values under this name", "tickets", "heading")
	refused("declares title", "tickets", "title")
	refused("declares /lines/*/n", "tickets", "/lines/*/n")
	refused("objectState is part of every object", "tickets", "objectState")
	refused("id is part of every object", "tickets", "id")
	refused("names no property", "tickets", "/")
	refused("names no property", "tickets", "")
	refused("names no property", "tickets", "", "--dry-run")
	process.Wants(t, run("schema", "prune", "tickets", "fax", "--dry-run"), "/fax of tickets: 1 object\n")
	process.Wants(t, run("schema", "show", "tickets"), "/fax          1\n")
	process.Wants(t, run("schema", "prune", "tickets", "fax"), "Removed /fax of tickets from 1 object and from the history.")
	process.Wants(t, run("schema", "prune", "tickets", "fax"), "from 0 objects")
	process.Wants(t, run("schema", "prune", "tickets", "never"), "from 0 objects")
	after := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tickets/a?context=main", "")
	if tag := after.Header.Get("ETag"); !strings.HasPrefix(tag, `"3-`) {
		t.Errorf("the tag is %s", tag)
	}
	object := after.JSON().(map[string]any)
	for name, value := range before {
		if name != "updateTime" && fmt.Sprint(object[name]) != fmt.Sprint(value) {
			t.Errorf("%s is %v, and was %v", name, object[name], value)
		}
	}
	if tag := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tickets/b?context=main", "").Header.Get("ETag"); !strings.HasPrefix(tag, `"1-`) {
		t.Errorf("the tag of another object is %s", tag)
	}
	history := string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=tickets&id=a", "").Body)
	process.Wants(t, history, `"changes":[{"field":"/fax"}]`, "audit.cause.operator", `"to":[{"fax":"22","n":1},{"n":2}]`)
	process.Shuns(t, history, `"11"`, `"44"`)
	feed := string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/changes?context=main&type=tickets&id=a&after=begin", "").Body)
	process.Wants(t, feed, `"version":3`, `"changes":[{"field":"/fax"}]`, "audit.cause.operator")
	process.Shuns(t, feed, `"11"`, `"44"`)
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tickets/a?context=main", `{"fax": "55", "name": "AA"}`)

	p.Stop()
	left := run("export", "tickets", "--context", "main")
	process.Wants(t, left, "Values of 2 objects were left out", `"title":"H"`)
	process.Shuns(t, left, "fax", "tags")
	process.Wants(t, run("schema", "show", "tickets"), "\n/lines/*/fax  2\n/tags         1\n")
	process.Wants(t, run("schema", "prune", "tickets", "/lines/*/fax"), "Removed /lines/*/fax of tickets from 2 objects")
	set("", fax)
	refused("the schemas are not those of set 2", "tickets", "title")
	set("", `, "title": {"type": "string", "x-was": "heading"}`)
	process.Wants(t, run("schema", "prune", "tickets", "tags"), "from 1 object")
	process.Shuns(t, run("schema", "show", "tickets"), "NOT DECLARED")
	process.Wants(t, run("check"), "nothing is wrong")
	p = process.Serve(t, uri, "--schemas", dir)
	p.SignIn("admin", process.Password)
	history = string(p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=tickets", "").Body)
	process.Shuns(t, history, `"11"`, `"22"`, `"33"`, `"44"`, `"t"`)
	object = p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tickets/a?context=main", "").JSON().(map[string]any)
	if fmt.Sprint(object["lines"]) != "[map[n:1] map[n:2]]" || object["title"] != "H" {
		t.Errorf("at the end: %v", object)
	}
	unique = `, "code"`
	from = p.Stderr.Mark()
	set("", `, "code": {"type": "string"}, "open": {"type": "object", "additionalProperties": {"type": "integer"}}`)
	p.Stderr.Await(t, from, service.Says(process.Loaded))
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tickets/a?context=main", `{"code": "claimed-once"}`)
	var many strings.Builder
	for i := range 1500 { // more than are listed
		fmt.Fprintf(&many, `"k%d": %d, `, i, i)
	}
	p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tickets/c?context=main", `{"open": {`+many.String()+`"z": 1}}`)
	unique, from = "", p.Stderr.Mark()
	set("", `, "open": {"type": "object", "properties": {"z": {"type": "integer"}}}`)
	p.Stderr.Await(t, from, service.Says(process.Loaded))
	for i := range 5 {
		process.Wants(t, run("schema", "prune", "tickets", fmt.Sprint("/open/k", i), "--dry-run"), ": 1 object\n")
	}
	process.Wants(t, run("schema", "prune", "tickets", "code"), "from 1 object")
	p.Stop()
	if bytes.Contains(service.AtRest(t, uri), []byte("claimed-once")) {
		t.Error("the store keeps a value that was unique and is removed")
	}
	_, said := process.Answer(t, 1, nil, "schema", "prune", "tickets", "fax", "--schemas", dir, "--store", "sqlite:"+filepath.Join(t.TempDir(), "none.db"))
	process.Wants(t, said, "there is no store")
}
