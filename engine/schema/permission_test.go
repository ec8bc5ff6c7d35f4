package schema

import (
	"slices"
	"testing"
	"testing/fstest"

	"marquee/schemas/base"
)

func TestPermissions(t *testing.T) {
	wards := fstest.MapFS{"wards.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema",
		"x-resource": {"path": "wards", "permission": "MANAGE_WARDS"}, "type": "object", "properties": {}}`)}}
	sources := []Source{{FS: base.FS}, {Name: "s", FS: wards}}
	declared, err := Load(sources...)
	if err != nil {
		t.Fatal(err)
	}
	if got, built := declared.Permissions(), declared.BuiltInPermissions(); !slices.Equal(got, []string{"MANAGE_OBJECTS", "MANAGE_SYSTEM", "MANAGE_WARDS"}) || !slices.Equal(built, []string{"MANAGE_OBJECTS", "MANAGE_SYSTEM"}) {
		t.Errorf("roles can hold %v, of which %v are built in", got, built)
	}
	registry, err := LoadWith(Options{Permissions: []string{"MANAGE_WARDS", "MANAGE_SYSTEM"}}, sources...)
	if err != nil {
		t.Fatal(err)
	}
	roles, _ := registry.Type("roles")
	if got, want := roles.Permissions(), []string{"MANAGE_OBJECTS", "MANAGE_SYSTEM", "MANAGE_WARDS"}; !slices.Equal(got, want) {
		t.Errorf("the permissions are %v, want %v", got, want)
	}
	other, err := LoadWith(Options{DefaultPermission: "MANAGE_WARDS"}, sources...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"wards", "networks"} {
		found, _ := other.Type(name)
		if want := map[string]string{"wards": "MANAGE_WARDS", "networks": "MANAGE_SYSTEM"}[name]; found.Permission != want {
			t.Errorf("writing %s requires %s, want %s", name, found.Permission, want)
		}
	}
	if names := roles.References(); len(names) > 0 {
		t.Errorf("roles have the lists of references %v", names)
	}
}

func TestPathsOfRoutesAreTaken(t *testing.T) {
	folder := fstest.MapFS{
		"wards.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "wards"}, "type": "object", "properties": {}}`)},
		"beds.json":  {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "beds", "paths": ["free"]}, "type": "object", "properties": {}}`)},
	}
	_, err := LoadWith(Options{Paths: []string{"wards/plan", "beds/free"}}, Source{Name: "s", FS: folder})
	if err == nil || err.Error() != "s/wards.json#/x-resource/path: wards is a path of the service (choose another path), line 1" {
		t.Errorf("a type whose path begins that of a route: %v", err)
	}
}
