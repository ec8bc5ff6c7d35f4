package transfer_test

import (
	"fmt"
	"testing/fstest"

	"marquee/engine/schema"
	"marquee/engine/transfer"
)

// Types are imported after those that they refer to.
func ExampleOrder() {
	text := func(path, properties string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T",
			"x-resource": {"path": "` + path + `"}, "type": "object", "properties": {` + properties + `}}`)}
	}
	registry, err := schema.Load(schema.Source{FS: fstest.MapFS{
		"beds.json":   text("beds", `"ward": {"x-ref": "wards"}`),
		"floors.json": text("floors", ""),
		"wards.json":  text("wards", `"floor": {"x-ref": "floors"}`),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range transfer.Order(registry, registry.Types()) {
		fmt.Println(t.Name)
	}
	// Output:
	// floors
	// wards
	// beds
}
