package reload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// venues is a folder with one type, whose x-resource has more members.
func venues(resource string) fs.FS {
	return fstest.MapFS{"venues.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Venue",
		"x-resource": {"path": "venues"` + resource + `}, "type": "object", "properties": {
		"name": {"type": "string"}, "code": {"type": "string"}, "labels": {"type": "array", "items": {"type": "string"}}}}`)}}
}

func found(s *service.Service, token, parameters string) int {
	s.TB.Helper()
	list := s.Must(token, http.MethodGet, "/api/v1/venues?context=main&"+parameters, "", http.StatusOK)
	return len(list["results"].([]any))
}

// TestSchemaAsksForMore stores objects, and then serves a schema that finds
// them by properties that it did not name before.
func TestSchemaAsksForMore(t *testing.T) { service.EachStore(t, testSchemaAsksForMore) }

func testSchemaAsksForMore(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	s := service.NewPlain(t, fresh)
	s.Stop()
	s.Schemas = []fs.FS{venues("")}
	e := s.Start()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	write := func(from, to int, label string) {
		var list []string
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprintf(`{"id": "v%d", "name": "Venue number%d", "code": "c%d", "labels": [%q]}`, i, i, i, label))
		}
		s.Must(token, http.MethodPost, "/api/v1/venues?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
	}
	write(0, 1000, "old")
	if n := found(s, token, "where=labels=old&pageSize=1000"); n != 1000 {
		t.Fatalf("%d objects by a label without an index", n)
	}
	s.Must(token, http.MethodGet, "/api/v1/venues?context=main&q=number7", "", http.StatusBadRequest)

	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range 100 {
			write(1000+i, 1001+i, "meanwhile")
			write(i, i+1, "changed")
		}
	})
	if err := s.Swap(e, venues(`, "search": ["name"], "index": ["labels"], "unique": ["code"]`)); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	for parameters, want := range map[string]int{
		"q=number7&pageSize=1000":             1 + 10 + 100,
		"q=venue+number1050":                  1,
		"where=labels=old&pageSize=1000":      900,
		"where=labels=changed&pageSize=1000":  100,
		"where=labels=meanwhile":              100,
		"where=labels!=changed&pageSize=1000": 1000,
	} {
		if n := found(s, token, parameters); n != want {
			t.Errorf("%s: want %d, got %d", parameters, want, n)
		}
	}
	s.Must(token, http.MethodPost, "/api/v1/venues/new?context=main", `{"code": "c500"}`, http.StatusUnprocessableEntity)
	s.Must(token, http.MethodPost, "/api/v1/venues/v500?context=main", `{"code": "free"}`, http.StatusOK)
	s.Must(token, http.MethodPost, "/api/v1/venues/new?context=main", `{"code": "c500"}`, http.StatusCreated)

	s.Stop()
	s.Schemas = []fs.FS{venues(`, "search": ["name"], "index": ["labels"], "unique": ["code"]`)}
	s.Start()
	if n := found(s, token, "q=number999"); n != 1 {
		t.Errorf("after a restart: %d", n)
	}
}

// TestSchemaRefusedByObjects serves a schema whose unique property is not
// unique among the stored objects: it is refused with the objects, and the one before
// stays. Once the objects differ, it is taken.
func TestSchemaRefusedByObjects(t *testing.T) { service.EachStore(t, testSchemaRefusedByObjects) }

func testSchemaRefusedByObjects(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh)
	s.Stop()
	s.Schemas = []fs.FS{venues("")}
	e := s.Start()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/venues?context=main", `[{"id": "a", "code": "x"}, {"id": "b", "code": "x"}]`, http.StatusOK)
	err = s.Swap(e, venues(`, "unique": ["code"]`))
	var problems schema.Problems
	if !errors.As(err, &problems) || !strings.Contains(err.Error(), `schemas/venues.json#/x-resource/unique: code cannot be unique: stored objects have the same value: "a" and "b" (network "main") (change`) {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/venues/c?context=main", `{"code": "x"}`, http.StatusCreated)
	s.Must(token, http.MethodPost, "/api/v1/venues/"+url.PathEscape("b")+"?context=main", `{"code": "y"}`, http.StatusOK)
	s.Must(token, http.MethodPost, "/api/v1/venues/c?context=main", `{"code": "z"}`, http.StatusOK)
	if err := s.Swap(e, venues(`, "unique": ["code"]`)); err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/venues/d?context=main", `{"code": "x"}`, http.StatusUnprocessableEntity)
}

// TestSchemaRefusedKeepsSearch serves a schema that is refused after all, and
// goes on finding by the words of the one before.
func TestSchemaRefusedKeepsSearch(t *testing.T) { service.EachStore(t, testSchemaRefusedKeepsSearch) }

func testSchemaRefusedKeepsSearch(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh)
	s.Stop()
	s.Schemas = []fs.FS{venues(`, "search": ["name"]`)}
	e := s.Start()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/venues?context=main", `[{"id": "a", "name": "north", "code": "x"}, {"id": "b", "name": "south", "code": "x"}]`, http.StatusOK)
	if err := s.Swap(e, venues(`, "search": ["labels"], "unique": ["code"]`)); err == nil {
		t.Fatal("the schema was taken")
	}
	if n := found(s, token, "q=north"); n != 1 {
		t.Errorf("found %d", n)
	}
}

// TestSchemaUniqueWhileWriting serves a schema that makes a property unique
// while objects are written with values that others have: if it is taken, none
// of them is.
func TestSchemaUniqueWhileWriting(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaUniqueWhileWriting)
}

func testSchemaUniqueWhileWriting(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh)
	s.Stop()
	s.Schemas = []fs.FS{venues("")}
	e := s.Start()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const objects = 1000
	var list []string
	for i := range objects {
		list = append(list, fmt.Sprintf(`{"code": "c%d"}`, i))
	}
	s.Must(token, http.MethodPost, "/api/v1/venues?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
	for delay := range 10 {
		var wait sync.WaitGroup
		var late *service.Answer
		wait.Go(func() {
			time.Sleep(time.Duration(delay) * 15 * time.Millisecond)
			late, err = s.Send(http.MethodPost, "/api/v1/venues/late?context=main",
				http.Header{"Authorization": {"Bearer " + token}}, strings.NewReader(`{"code": "c7"}`))
		})
		refused := s.Swap(e, venues(`, "unique": ["code"]`))
		wait.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if refused == nil && late.Status < 300 {
			t.Errorf("after %d ms: the schema was taken, and so was a value that another object has", delay*15)
		}
		if err := s.Swap(e, venues("")); err != nil {
			t.Fatal(err)
		}
		s.Must(token, http.MethodPost, "/api/v1/venues?context=main", `{"id": "late", "code": null}`, http.StatusOK)
	}
}

// TestSchemaChangeInterrupted ends the change to other searched properties
// early: with the schema before, all is found again.
func TestSchemaChangeInterrupted(t *testing.T) { service.EachStore(t, testSchemaChangeInterrupted) }

func testSchemaChangeInterrupted(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh)
	s.Stop()
	s.Schemas = []fs.FS{venues(`, "search": ["name"]`)}
	e := s.Start()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/venues?context=main", `[`+strings.Repeat(`{"name": "north"}, `, 999)+`{"name": "south"}]`, http.StatusOK)
	other, err := s.Load(venues(`, "search": ["code"]`))
	if err != nil {
		t.Fatal(err)
	}
	for delay := range 8 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(delay)*5*time.Millisecond)
		_ = e.Migrate(ctx, other)
		cancel()
		if err := s.Swap(e, venues(`, "search": ["name"]`)); err != nil {
			t.Fatal(err)
		}
		if n := found(s, token, "q=north&pageSize=1000"); n != 999 {
			t.Fatalf("after %d ms: found %d", 5*delay, n)
		}
	}
}

// progressSteps is what a call reports about its progress.
type progressSteps struct{ reported []string }

func (s *progressSteps) Step(text string) { s.reported = append(s.reported, text) }
func (s *progressSteps) Advance(n int)    { s.reported = append(s.reported, fmt.Sprint("+", n)) }

// TestSchemaChangeReports: indexing reports the type, and the objects that are done.
func TestSchemaChangeReports(t *testing.T) { service.EachStore(t, testSchemaChangeReports) }

func testSchemaChangeReports(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, venues(""))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/venues?context=main", `[{"id": "a", "name": "A"}, {"id": "b", "name": "B"}, {"id": "c", "name": "C"}]`, http.StatusOK)
	registry, err := s.Load(venues(moreVenues))
	if err != nil {
		t.Fatal(err)
	}
	var made progressSteps
	if err := s.Engine.Migrate(store.WithProgress(t.Context(), &made), registry); err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(made.reported, "indexing venues"); i < 0 || !slices.Contains(made.reported[i:], "+3") {
		t.Errorf("reported is %q", made.reported)
	}
}

// TestSchemaDuplicates makes properties unique that many objects share: all groups are
// named at once, with their networks, as far as they are described.
func TestSchemaDuplicates(t *testing.T) { service.EachStore(t, testSchemaDuplicates) }

func testSchemaDuplicates(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh)
	s.Stop()
	s.Schemas = []fs.FS{venues("")}
	e := s.Start()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/networks/other", `{"name": "Other"}`, http.StatusCreated)
	var list []string
	for i := range 13 {
		list = append(list, fmt.Sprintf(`{"id": "a%02d", "code": "people", "name": "n%d"}`, i, i))
	}
	for i := range 25 {
		list = append(list, fmt.Sprintf(`{"id": "b%02d", "code": "c%d", "name": "n%d"}`, i, i, i+100), fmt.Sprintf(`{"id": "d%02d", "code": "c%d", "name": "n%d"}`, i, i, i+200))
	}
	body := "[" + strings.Join(list, ",") + "]"
	s.Must(token, http.MethodPost, "/api/v1/venues?context=main", body, http.StatusOK)
	s.Must(token, http.MethodPost, "/api/v1/venues?context=other", `[{"id": "x", "name": "n1"}, {"id": "y", "name": "n1"}, {"id": "z", "name": "n2"}]`, http.StatusOK)
	var problems schema.Problems
	if err = s.Swap(e, venues(`, "unique": ["name", "code"]`)); !errors.As(err, &problems) || !problems.Passing() || len(problems) != 2 {
		t.Fatal(err)
	}
	for _, p := range problems {
		switch {
		case strings.HasPrefix(p.Text, "name "):
			if want := []string{`"x" and "y" (network "other")`}; !slices.Equal(p.Objects, want) {
				t.Errorf("the objects with a name are %q", p.Objects)
			}
		case len(p.Objects) != 21 || p.Objects[0] != `"a00", "a01", "a02", "a03", "a04", "a05", "a06", "a07", "a08", "a09" and 3 others (network "main")` ||
			p.Objects[1] != `"b00" and "d00" (network "main")` || p.Objects[20] != "and more":
			t.Errorf("the objects with a code are %d: %q", len(p.Objects), p.Objects)
		}
	}
	// As long as each group is there, all is found again without a visit of the objects.
	s.Must(token, http.MethodPost, "/api/v1/venues/d24?context=main", `{"code": "own"}`, http.StatusOK)
	if again := s.Swap(e, venues(`, "unique": ["name", "code"]`)); again == nil || again.Error() != err.Error() {
		t.Errorf("tried again: %v", again)
	}
	// With one less, the others are.
	s.Must(token, http.MethodPost, "/api/v1/venues/d00?context=main", `{"code": "other"}`, http.StatusOK)
	if err = s.Swap(e, venues(`, "unique": ["code"]`)); !errors.As(err, &problems) || len(problems) != 1 || slices.Contains(problems[0].Objects, `"b00" and "d00" (network "main")`) {
		t.Fatal(err)
	}
	for i := range list {
		list[i] = strings.NewReplacer(`"people"`, fmt.Sprintf(`"own%d"`, i), `"code": "c`, fmt.Sprintf(`"code": "own%d-`, i)).Replace(list[i])
	}
	s.Must(token, http.MethodPost, "/api/v1/venues?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
	if err := s.Swap(e, venues(`, "unique": ["code"]`)); err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/venues/new?context=main", `{"code": "own1"}`, http.StatusUnprocessableEntity)
	s.Must(token, http.MethodPost, "/api/v1/venues/new?context=other", `{"code": "own1"}`, http.StatusCreated)
}
