package base_test

import (
	"fmt"
	"testing/fstest"

	"marquee/engine/schema"
	"marquee/schemas/base"
)

// An application adds its types, which can refer to those that are always there.
func ExampleExtend() {
	registry, err := schema.Load(schema.Source{Name: "schemas", FS: base.Extend(fstest.MapFS{"wards.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Ward",
		"x-resource": {"path": "wards"},
		"type": "object",
		"properties": {"team": {"x-ref": "teams"}}
	}`)}})})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range registry.Types() {
		fmt.Println(t.Name)
	}
	// Output:
	// networks
	// roles
	// teams
	// tokens
	// users
	// wards
}
