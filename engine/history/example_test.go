package history_test

import (
	"fmt"

	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/store"
)

// A change is stored with the values that it altered, except secrets, and is shown as a
// message.
func ExampleFields() {
	shape := &document.Shape{HasSecrets: true, Properties: map[string]*document.Shape{
		"name": document.AnyShape,
		"key":  {Secret: true, HasSecrets: true},
	}}
	before := map[string]any{"name": "East", "key": "old"}
	after := map[string]any{"name": "East wing", "key": "new"}
	fields := history.Fields(shape, document.Diff(before, after), "ACTIVE", "ARCHIVED")
	fmt.Println(string(fields))

	change := store.Change{Collection: "wards", ID: "east", Version: 2, User: "ann", Fields: fields}
	fmt.Println(history.Message(change))
	// Output:
	// [{"field":"/objectState","from":"ACTIVE","to":"ARCHIVED"},{"field":"/key"},{"field":"/name","from":"East","to":"East wing"}]
	// wards east was changed.
}
