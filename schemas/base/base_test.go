package base_test

import (
	"encoding/json"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"marquee/engine/schema"
	"marquee/schemas"
	"marquee/schemas/base"
)

func TestFilesCanBeExtended(t *testing.T) {
	application := fstest.MapFS{
		"wards.json":       {Data: []byte("ward")},
		"roles.json":       {Data: []byte("role")},
		"common/ward.json": {Data: []byte("common")},
	}
	if err := fstest.TestFS(base.Extend(application), "networks.json", "users.json", "teams.json", "wards.json", "roles.json",
		"common/ward.json", "common/labels.json", "common/reference.json"); err != nil {
		t.Error(err)
	}
	if data, err := fs.ReadFile(base.Extend(application), "roles.json"); string(data) != "role" {
		t.Errorf("roles.json is %q (%v), want that of the application", data, err)
	}
	if err := fstest.TestFS(base.Extend(fstest.MapFS{}), "roles.json"); err != nil {
		t.Error(err)
	}
}

func TestBaseLoadsAlone(t *testing.T) {
	registry, err := schema.Load(schema.Source{FS: base.FS})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, loaded := range registry.Types() {
		names = append(names, loaded.Name)
	}
	if want := []string{"networks", "roles", "teams", "tokens", "users"}; !slices.Equal(names, want) {
		t.Errorf("the types are %v, want %v", names, want)
	}
}

// The advertising service adds to the base types, and takes nothing away.
func TestAdvertisingAddsToTheBase(t *testing.T) {
	for name, added := range map[string]string{"roles.json": "sites", "teams.json": "sites"} {
		ours, theirs := properties(t, base.FS, name), properties(t, schemas.FS, name)
		if theirs[added] == nil || ours[added] != nil {
			t.Errorf("%s: only the advertising service has %s", name, added)
		}
		for property := range ours {
			if theirs[property] == nil {
				t.Errorf("%s of the advertising service lacks %s", name, property)
			}
		}
	}
}

func properties(t *testing.T, files fs.FS, name string) map[string]any {
	t.Helper()
	data, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	var content struct{ Properties map[string]any }
	if err := json.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	return content.Properties
}
