package reload

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"marquee/integration/service"
)

// invoices is a folder with a type whose objects are numbered in some way.
func invoices(numbering string) fs.FS {
	return service.TypeWith("invoices", `, "search": ["name"]`, `"name": {"type": "string"}, "number": {"type": "integer"`+numbering+`}`)
}

func numberOf(object any) int64 {
	members, _ := object.(map[string]any)
	var n int64
	fmt.Sscan(fmt.Sprint(members["number"]), &n)
	return n
}

// TestSequencesSkipNumbers adds a sequence to a type whose objects have some of its
// numbers: they keep them, and others get none of these.
func TestSequencesSkipNumbers(t *testing.T) { service.EachStore(t, testSequencesSkipNumbers) }

func testSequencesSkipNumbers(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, invoices(""))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	for n := range 700 {
		objects = append(objects, fmt.Sprintf(`{"id": "old%d", "number": %d}`, n, n+3))
	}
	s.Must(token, http.MethodPost, "/api/v1/invoices?context=main", "["+strings.Join(append(objects, `{"id": "none"}`), ",")+"]", http.StatusOK)
	s.Stop()
	s.Schemas = []fs.FS{invoices(`, "x-sequence": {}`)}
	s.Start()
	made := s.Must(token, http.MethodPost, "/api/v1/invoices?context=main", "["+strings.Repeat("{},", 40)+`{"id": "none", "name": "N"}, {"id": "old9", "number": 1}]`, http.StatusOK)
	results, _ := made["results"].([]any)
	for i, result := range results {
		switch n := numberOf(result); {
		case i < 2 && n != int64(i+1), i >= 2 && i < 40 && n < 703, i == 40 && n != 0, i == 41 && n != 12:
			t.Errorf("object %d has the number %d", i, n)
		}
	}
	// A start that is raised holds for the next object.
	s.Stop()
	s.Schemas = []fs.FS{invoices(`, "x-sequence": {"start": 90000}`)}
	s.Start()
	if n := numberOf(s.Must(token, http.MethodPut, "/api/v1/invoices/raised?context=main", `{}`, http.StatusCreated)); n != 90000 {
		t.Errorf("the start is %d", n)
	}
}

// TestSequencesRefuseDuplicates refuses a sequence while stored objects share a value.
func TestSequencesRefuseDuplicates(t *testing.T) { service.EachStore(t, testSequencesRefuseDuplicates) }

func testSequencesRefuseDuplicates(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, invoices(""))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/invoices?context=main", `[{"id": "a", "number": 1}, {"id": "b", "number": 1}]`, http.StatusOK)
	refusedBy(t, restart(s, invoices(`, "x-sequence": {}`)), "number")
}
