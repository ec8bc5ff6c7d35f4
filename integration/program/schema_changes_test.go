package program

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSchemaChangesAfterRename: --schema-changes refuses what a set changes, and not the renames
// of the sets before it.
func TestSchemaChangesAfterRename(t *testing.T) { service.EachStore(t, testSchemaChangesAfterRename) }

func testSchemaChangesAfterRename(t *testing.T, fresh service.NewStore) {
	set := func(more string) string {
		return typeFile("units", `"title": {"type": "string", "x-was": "heading"}`+more, `, "was": "wards"`, "")
	}
	dir := schemaFolder(t, map[string]string{"units": set("")})
	uri := fresh(t)
	f := process.Folder{Process: process.Serve(t, uri, "--schemas", dir, "--schema-changes", "clients"), Dir: dir}
	f.SignIn("admin", process.Password)
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/units/u?context=main", `{"title": "U"}`)
	f.Drop("units.json", set(`, "seats": {"type": "integer"}`), process.Loaded)
	line := f.Drop("units.json", set(`, "seats": {"type": "integer", "maximum": 9}`), process.RefusedSet)
	if text := fmt.Sprint(line["cause"]) + fmt.Sprint(line["reason"]) + fmt.Sprint(line["error"]); !strings.Contains(text, "refuses 1 difference:") || !strings.Contains(text, "bound-tightened") {
		t.Errorf("the log says %v", line)
	}
	f.Stop()
	f.Process = process.Serve(t, uri, "--schemas", dir, "--schema-changes", "clients") // with the set before
	process.Wants(t, f.AwaitReady(http.StatusOK), `"schemas":"refused since the start`)
	f.Drop("units.json", set(`, "seats": {"type": "integer"}, "floor": {"type": "integer"}`), process.Loaded)
	process.Shuns(t, f.Stderr.String(), "units.json#/x-resource", "property-renamed", "type-removed")
	f.Stop()
}
