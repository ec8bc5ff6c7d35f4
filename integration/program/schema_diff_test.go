package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSchemaDiff compares folders as a team does before a deployment.
func TestSchemaDiff(t *testing.T) {
	t.Parallel()
	old, changed := t.TempDir(), t.TempDir()
	schema := func(dir, resource, properties string) {
		process.File(t, filepath.Join(dir, "orders.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
"x-resource": {"path": "orders"`+resource+`},
"properties": {`+properties+`}}`)
	}
	schema(old, "", `"state": {"type": "string", "enum": ["NEW", "PAID"]}, "fax": {"type": "string"}`)
	schema(changed, "", `
"state": {"type": "string", "enum": ["NEW", "SETTLED"]}`)
	diff := func(code int, more ...string) string {
		p := process.Launch(t, process.Command(t, nil, append([]string{"schema", "diff", "--application", "none"}, more...)...))
		p.Ends(code)
		return p.Printed()
	}
	file := filepath.Join(changed, "orders.json")
	process.Wants(t, diff(0, old, changed),
		file+`#/properties/state/enum: enum-value-removed: these values are no longer accepted: "PAID" [STORED REQUEST SOURCE] (keep the values that are in use), line 4`,
		file+`#/properties/state/enum: enum-value-added: readers may receive new values: "SETTLED" [RESPONSE SOURCE], line 4`,
		filepath.Join(old, "orders.json")+`#/properties/fax (old): property-removed`)
	process.Wants(t, diff(0, "--json", old, changed), `{"rule":"enum-value-removed","type":"orders","file":"`+file+`","pointer":"/properties/state/enum","line":4,"classes":["STORED","REQUEST","SOURCE"],"text":"these values`)
	process.Wants(t, diff(1, old, changed, "--fail-on", "STORED,RESPONSE"), "3 differences of the classes of --fail-on")
	if printed := diff(0, old, old); printed != "nothing breaks\n" {
		t.Errorf("of the same folder: %s", printed)
	}
	if printed := diff(0, "--json", old, old); printed != "" {
		t.Errorf("of the same folder as JSON: %s", printed)
	}

	schema(changed, `, "accepts": [{"rule": "property-removed", "at": "/properties/fax", "reason": "nobody has one"}]`, `"state": {"type": "string", "enum": ["NEW", "PAID"]}`)
	process.Wants(t, diff(0, old, changed, "--fail-on", "STORED"), "property-removed: ", "accepted: nobody has one")
	process.Wants(t, diff(0, changed, changed), "accepts-nothing: ")

	process.Wants(t, diff(2, old, changed, "--fail-on", "BREAKING"), `there is no class "BREAKING"`)
	process.Wants(t, diff(2, old, filepath.Join(old, "none")), "none")
	process.Wants(t, diff(2, old, t.TempDir()), "holds no schema")
	process.Wants(t, diff(2, old), "expected")
	schema(changed, "", `"state": {"type": "strings"}`)
	process.Wants(t, diff(2, old, changed), file+"#/properties/state/type", "cannot be compared: it has 1 mistake")
	if err := os.WriteFile(file, []byte(strings.Repeat("[", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	process.Wants(t, diff(2, old, changed), "cannot be compared: it has")
}

// TestSchemaDiffOfStore compares a folder with the set that a server serves, and that has
// been kept in a store that is not served.
func TestSchemaDiffOfStore(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaDiffOfStore)
}

func testSchemaDiffOfStore(t *testing.T, fresh service.NewStore) {
	served, changed := t.TempDir(), t.TempDir()
	process.File(t, filepath.Join(served, "wards.json"), process.Schema("wards", `, "fax": {"type": "string"}`))
	process.File(t, filepath.Join(changed, "wards.json"), process.Schema("wards"))
	uri := fresh(t)
	p := process.Serve(t, uri, "--schemas", served)
	compare := func() {
		t.Helper()
		process.Wants(t, process.Run(t, nil, "schema", "diff", "--store", uri, "store:", changed), "the schemas of the store/wards.json#/properties/fax (old): property-removed")
		if printed := process.Run(t, nil, "schema", "diff", "--store", uri, served, "store:"); printed != "nothing breaks\n" {
			t.Error(printed)
		}
	}
	compare()
	p.Stop()
	compare()

	process.Serve(t, uri, "--known-types-only").Stop()
	process.Wants(t, process.Run(t, nil, "schema", "diff", "--store", uri, "store:", changed), "warning: the store has no files of set 2, which was accepted last: set 1 is compared", "property-removed")
	process.Wants(t, process.Fails(t, nil, "schema", "diff", "--store", uri+"none", "store:", changed), "marquee")
}
