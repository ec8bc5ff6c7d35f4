package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"marquee/integration/process"
)

// TestSchemaTools begins a type, and shows what a team wants to know of it.
func TestSchemaTools(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "schemas")
	run := func(args ...string) string {
		t.Helper()
		return process.Run(t, nil, append([]string{"schema"}, args...)...)
	}
	process.Wants(t, run("new", "wards", dir), filepath.Join(dir, "wards.json")+"\n")
	process.Wants(t, run("lint", dir), "1 schema, no mistakes")
	for name, says := range map[string]string{"wards": "wards.json exists", "users": "is taken by a built-in type", "Wards": "must match", "../up": "is no name of a type", "batch": "is a path of the service", "..": "is no name of a type", ".hidden": "is no name of a type"} {
		_, said := process.Answer(t, 2, nil, "schema", "new", name, dir)
		process.Wants(t, said, says)
	}
	if files, err := os.ReadDir(dir); len(files) != 1 || err != nil {
		t.Errorf("the folder has %v, %v", files, err)
	}

	process.Wants(t, run("show", "wards", "--schemas", dir), "\nroute   GET HEAD POST PUT PATCH /api/v1/wards/{id}\n", "\nroute   POST /api/v1/wards/{id}/erase\n",
		"\nread    any role\n", "\nindex   manager by createTime\n", "\nname     string  ≤ 200 characters  required\n", "\ncontact  string                    format email, personal\n", "\ntags[]   string  ≤ 50 characters")
	process.Wants(t, run("show", "lineitems"), "members as in ", "reference to orders", "order.advertiser.team")
	_, said := process.Answer(t, 2, nil, "schema", "show", "nothing")
	process.Wants(t, said, "there is no type nothing")

	var meta map[string]any
	if err := json.Unmarshal([]byte(run("meta")), &meta); err != nil || meta["$id"] != "https://marquee.dev/schema/vocabulary" {
		t.Errorf("the meta-schema is %v, %v", meta["$id"], err)
	}
}
