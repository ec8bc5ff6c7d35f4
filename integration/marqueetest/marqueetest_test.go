package marqueetest_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine/store/sqlite"
	"marquee/integration/marqueetest"
	"marquee/resources"
)

const hospital = "../testdata/hospital"

func TestStart(t *testing.T) {
	s := marqueetest.Start(t, os.DirFS(hospital))
	s.Do("POST", "/api/v1/orders/o?context="+marqueetest.Network, `{"patient": "Kari"}`, 201)
	if order := s.Do("GET", "/api/v1/orders/o?context=main", "", 200); order["patient"] != "Kari" {
		t.Errorf("the order is %v", order)
	}
	if order, err := s.Marquee.Read(t.Context(), "main", "orders", "o"); err != nil || order["patient"] != "Kari" {
		t.Errorf("the order is %v (%v)", order, err)
	}
	s.Do("GET", "/api/v1/sites?context=main", "", 404)
	if other := marqueetest.Start(t, nil).Do("GET", "/api/v1/networks", "", 200); len(other["results"].([]any)) != 1 {
		t.Errorf("another server has the networks %v", other)
	}
}

// TestReload: what was written under other schemas is served by the new ones.
func TestReload(t *testing.T) {
	wards := func(properties string) fstest.MapFS {
		return fstest.MapFS{"wards.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema",
			"x-resource": {"path": "wards", "sort": ["beds"]}, "type": "object", "properties": {` + properties + `}}`)}}
	}
	s := marqueetest.Start(t, wards(`"beds": {"type": "integer"}`))
	s.Do("POST", "/api/v1/wards/north?context=main", `{"beds": 12}`, 201)
	s.Reload(nil)
	s.Do("GET", "/api/v1/wards/north?context=main", "", 404)
	s.Reload(wards(`"beds": {"type": "integer", "maximum": 10}, "floor": {"type": "integer"}`))
	s.Do("POST", "/api/v1/wards/north?context=main", `{"floor": 3}`, 200)
	if ward := s.Do("GET", "/api/v1/wards/north?context=main", "", 200); ward["beds"] != int64(12) || ward["floor"] != int64(3) {
		t.Errorf("the ward is %v", ward)
	}
	s.Do("POST", "/api/v1/wards/north?context=main", `{"beds": 13}`, 422)
}

// TestChanges: a test waits for what others write, instead of sleeping.
func TestChanges(t *testing.T) {
	s := marqueetest.Start(t, os.DirFS(hospital))
	changes := s.Changes("orders")
	go func() {
		for _, patient := range []string{"Kari", "Ola"} {
			if _, err := s.Marquee.Write(t.Context(), "main", "orders", map[string]any{"id": "o", "patient": patient}); err != nil {
				t.Error(err)
			}
		}
	}()
	change := changes.Await(func(c marqueetest.Change) bool { return c.Kind == "changed" })
	if change.Type != "orders" || change.ID != "o" || change.Version != 2 || change.Object["patient"] != "Ola" {
		t.Errorf("the change is %v", change)
	}
}

func TestStartWith(t *testing.T) {
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "own.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := marqueetest.StartWith(t, marquee.Options{Store: store, Schemas: os.DirFS(hospital), Sealer: sealer(t)})
	s.Do("POST", "/api/v1/orders/o?context=main", `{"patient": "Kari"}`, 201)
	s = marqueetest.StartWith(t, marquee.Options{Application: resources.New().Application()})
	s.Do("POST", "/api/v1/sites/s?context=main", `{"name": "Site"}`, 201)
}
