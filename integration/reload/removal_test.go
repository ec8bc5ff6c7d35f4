package reload

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine/schema"
	"marquee/integration/service"
)

// lending is a folder with copies, and loans with some properties.
func lending(methods, properties string) fs.FS {
	folder := fstest.MapFS{}
	for path, parts := range map[string][2]string{"copies": {methods, `"name": {"type": "string"}`}, "loans": {"", properties}} {
		if parts[1] == "" {
			continue
		}
		folder[path+".json"] = &fstest.MapFile{Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T",
			"x-resource": {"path": "` + path + `"` + parts[0] + `}, "type": "object", "properties": {` + parts[1] + `}}`)}
	}
	return folder
}

// TestRemovalBecomesPossible adds DELETE to a type to which stored objects refer, in
// properties that later schemas do not declare, or whose type is left out.
func TestRemovalBecomesPossible(t *testing.T) { service.EachStore(t, testRemovalBecomesPossible) }

func testRemovalBecomesPossible(t *testing.T, fresh service.NewStore) {
	const (
		removable = `, "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`
		note      = `"note": {"type": "string"}`
		referring = note + `, "copies": {"type": "array", "items": {"x-ref": "copies"}}`
	)
	s := service.NewPlain(t, fresh, lending("", referring))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/copies?context=main", `[{"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "free"}]`, http.StatusOK)
	const loans = 1000
	body := make([]string, loans)
	for i := range body {
		body[i] = fmt.Sprintf(`{"id": "l%d", "copies": ["%s", "c"]}`, i, []string{"a", "b"}[min(i, 1)])
	}
	s.Must(token, http.MethodPost, "/api/v1/loans?context=main", "["+strings.Join(body, ",")+"]", http.StatusOK)
	remove := func(id string, status int) {
		t.Helper()
		if a := s.Ask(token, http.MethodDelete, "/api/v1/copies/"+id+"?context=main", "", nil); a.Status != status {
			t.Errorf("removing %s: %d %s", id, a.Status, a.Body)
		}
	}
	swap := func(folder fs.FS) {
		t.Helper()
		if err := s.Swap(s.Engine, folder); err != nil {
			t.Fatal(err)
		}
	}
	remove("free", http.StatusMethodNotAllowed)
	begun := time.Now()
	swap(lending(removable, referring))
	t.Logf("%v for the references of %d objects", time.Since(begun), loans)
	remove("a", http.StatusConflict)
	remove("free", http.StatusNoContent)

	// A type without a file keeps its objects, which refer to others as before.
	swap(lending(removable, ""))
	remove("a", http.StatusConflict)
	swap(lending(removable, referring))

	// What a property that is not declared any more holds is no reference.
	swap(lending(removable, note))
	for range 2 {
		if err := s.Pass(); err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(time.Hour)
		if token, err = s.SignIn(service.Admin); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Pass(); err != nil {
		t.Fatal(err)
	}
	remove("a", http.StatusNoContent)
	var problems schema.Problems
	if err := s.Swap(s.Engine, lending(removable, referring)); !errors.As(err, &problems) || !strings.Contains(problems.Error(), `"l0" refers to "a"`) {
		t.Errorf("a property with a reference to what is gone is declared: %v", err)
	}
	remove("b", http.StatusNoContent)
	// An id that was used before continues its versions after DELETE is gone, too.
	swap(lending("", note))
	a := s.Ask(token, http.MethodPut, "/api/v1/copies/a?context=main", `{}`, nil)
	if tag := a.Header.Get("ETag"); a.Status != http.StatusCreated || !strings.HasPrefix(tag, `"3-`) {
		t.Errorf("%d %s %s", a.Status, tag, a.Body)
	}
}
