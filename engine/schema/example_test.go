package schema_test

import (
	"fmt"
	"testing/fstest"

	"marquee/engine/schema"
)

// A folder of schemas is a registry of types, or a list of all that is wrong with it.
func ExampleLoad() {
	ward := func(properties string) schema.Source {
		return schema.Source{Name: "schemas", FS: fstest.MapFS{"wards.json": {Data: []byte(`{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"title": "Ward",
			"x-resource": {"path": "wards", "search": ["name"]},
			"type": "object",
			"properties": {` + properties + `}
		}`)}}}
	}
	registry, err := schema.Load(ward(`"name": {"type": "string"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	wards, _ := registry.Type("wards")
	fmt.Println(wards.Name, wards.Searched())

	_, err = schema.Load(ward(`"name": {"type": "strng"}, "nurse": {"x-ref": "nurses"}`))
	fmt.Println(err)
	// Output:
	// wards [name]
	// schemas/wards.json#/properties/name/type: must be one of array, boolean, integer, null, number, object, string (see docs/reference/schema-vocabulary.md), line 6
	// schemas/wards.json#/properties/nurse/x-ref: there is no type nurses (name the path of a type), line 6
}
