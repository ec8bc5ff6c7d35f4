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

// A test of a migration writes under the old schemas, reloads, and reads.
func ExampleServer_Reload() {
	var t *testing.T // of the test
	wards := func(properties string) fstest.MapFS {
		return fstest.MapFS{"wards.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema",
			"x-resource": {"path": "wards", "sort": ["beds"]}, "type": "object", "properties": {` + properties + `}}`)}}
	}
	server := marqueetest.Start(t, wards(`"beds": {"type": "integer"}`))
	server.Do(http.MethodPost, "/api/v1/wards/north?context=main", `{"beds": 12}`, http.StatusCreated)
	server.Reload(wards(`"beds": {"type": "integer", "maximum": 10}, "floor": {"type": "integer"}`))
	server.Do(http.MethodPost, "/api/v1/wards/north?context=main", `{"floor": 3}`, http.StatusOK) // the stored fault is tolerated
	server.Do(http.MethodPost, "/api/v1/wards/north?context=main", `{"beds": 13}`, http.StatusUnprocessableEntity)
}

// TestNumbers: what Do returns are int64 and float64, not only float64 as those of
// encoding/json.
func TestNumbers(t *testing.T) {
	server := marqueetest.Start(t, fstest.MapFS{"wards.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Ward",
		"x-resource": {"path": "wards"},
		"type": "object",
		"properties": {"beds": {"type": "integer"}, "area": {"type": "number"}}
	}`)}})
	server.Do(http.MethodPost, "/api/v1/wards/north?context=main", `{"beds": 12, "area": 80.5}`, http.StatusCreated)
	ward := server.Do(http.MethodGet, "/api/v1/wards/north?context=main", "", http.StatusOK)
	if beds, ok := ward["beds"].(int64); !ok || beds != 12 {
		t.Errorf("it has %v beds", ward["beds"])
	}
	if area, ok := ward["area"].(float64); !ok || area != 80.5 {
		t.Errorf("it has %v m²", ward["area"])
	}
}
