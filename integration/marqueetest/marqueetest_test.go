package marqueetest_test

import (
	"os"
	"path/filepath"
	"testing"

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
