package marqueetest_test

import (
	"net/http"
	"testing"
	"testing/fstest"

	"marquee/integration/marqueetest"
)

// A test of a client has a server of its own, with the types that it needs.
func ExampleStart() {
	var t *testing.T // of the test
	server := marqueetest.Start(t, fstest.MapFS{"wards.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Ward",
		"x-resource": {"path": "wards"},
		"type": "object",
		"required": ["name"],
		"properties": {"name": {"type": "string"}}
	}`)}})
	server.Do(http.MethodPost, "/api/v1/wards/north?context=main", `{"name": "North"}`, http.StatusCreated)
	ward := server.Do(http.MethodGet, "/api/v1/wards/north?context=main", "", http.StatusOK)
	if ward["name"] != "North" {
		t.Errorf("the ward is %v", ward)
	}
}
