package document_test

import (
	"fmt"

	"marquee/engine/document"
	"marquee/engine/message"
)

// A write decodes what a client sends, gives it the form in which values are stored,
// and merges it into the stored object. The canonical text is compared to find out
// whether the object has changed.
func ExampleMerge() {
	shape := &document.Shape{Types: []string{"object"}, Properties: map[string]*document.Shape{
		"name": {},
		"from": {Time: true},
		"tags": {},
		"size": {HasDefault: true, Default: int64(1)},
	}}
	stored, err := document.DecodeObject([]byte(`{"from": "2030-01-01T00:00:00.000Z", "name": "Spring", "size": 2, "tags": ["a", "b"]}`), document.DefaultLimits)
	if err != nil {
		fmt.Println(err)
		return
	}
	patch, err := document.DecodeObject([]byte(`{"from": "2030-01-01T01:00:00+01:00", "tags": ["c"], "size": null, "colour": "red"}`), document.DefaultLimits)
	if err != nil {
		fmt.Println(err)
		return
	}
	normaliser := document.Normaliser{
		Unknown: func(at document.Pointer, _ bool) { fmt.Println("unknown:", at) },
		Fault:   func(fault *message.Definition, at document.Pointer, _ message.Params) { fmt.Println(fault.Code, at) },
	}
	normaliser.Object(shape, patch)
	merged := document.Merge(shape, stored, patch, false)
	fmt.Println(string(document.Append(nil, merged)))
	for _, change := range document.Diff(stored, merged) {
		fmt.Println(change.Field, change.From, change.To)
	}
	// Output:
	// unknown: /colour
	// {"from":"2030-01-01T00:00:00.000Z","name":"Spring","size":1,"tags":["c"]}
	// size 2 1
	// tags [a b] [c]
}
