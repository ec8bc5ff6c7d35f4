package message_test

import (
	"encoding/json"
	"fmt"

	"marquee/engine/message"
)

// hospital holds the messages of an application.
var hospital message.Set

var wardFull = hospital.Invalid("error.ward.full", "{{field}} refers to the ward {{ward}}, which has no free bed.")

// A fault names its place, and its text can be translated by its code.
func ExampleSet() {
	err := error(wardFull.Error(message.Params{"field": "/ward", "ward": "north"}))
	fmt.Println(err)
	fmt.Println(wardFull.Is(err), message.ValueNotUnique.Is(err))

	text, _ := json.Marshal(wardFull.With(message.Params{"field": "/ward", "ward": "north"}))
	fmt.Println(string(text))

	catalogue, err := message.NewCatalogue(&hospital)
	fmt.Println(catalogue != nil, err)
	// Output:
	// /ward refers to the ward north, which has no free bed.
	// true false
	// {"type":"ValidationErrorMessage","code":"error.ward.full","text":"{{field}} refers to the ward {{ward}}, which has no free bed.","params":{"field":"/ward","ward":"north"}}
	// true <nil>
}
