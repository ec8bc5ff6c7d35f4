package openapi_test

import (
	"os"
	"testing"

	"marquee"
	"marquee/engine/openapi"
	"marquee/engine/schema"
)

// TestSize checks that the document of two types of one's own, with those that every
// application has, stays small enough for generators and people. The types have an
// enumeration, a reference, date-times, transitions, alternatives and inner objects.
func TestSize(t *testing.T) {
	const limit = 127_000
	app := marquee.Application{}
	types, err := app.Load(schema.Source{Name: "events", FS: os.DirFS("testdata/events")})
	if err != nil {
		t.Fatal(err)
	}
	text, err := app.Document(types, openapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(text) >= limit {
		t.Errorf("the document has %d bytes, and may have %d", len(text), limit)
	}
}
