package reload

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// typed returns the type of venues, with the schemas of some values.
func typed(path, value string) fs.FS {
	return service.TypeWith(path, "", `"name": {"type": "string"}, "p": `+value+`, "in": {"type": "object", "properties": {"p": `+value+`}}, "list": {"type": "array", "items": `+value+`},
		"map": {"type": "object", "additionalProperties": `+value+`}`)
}

// TestSchemaOtherType serves sets that declare other types for stored values: they are refused
// with the number of the objects and the ids of the first ten, at each place, until no value is
// left. What has no value of another type is served.
func TestSchemaOtherType(t *testing.T) { service.EachStore(t, testSchemaOtherType) }

func testSchemaOtherType(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const text, number, both = `{"type": "string"}`, `{"type": "number"}`, `{"type": ["string", "number"]}`
	swap := func(set fs.FS) {
		t.Helper()
		if err := s.Swap(s.Engine, set); err != nil {
			t.Fatal(err)
		}
	}
	write := func(objects string) {
		t.Helper()
		s.Must(token, http.MethodPost, "/api/v1/venues?context=main", objects, http.StatusOK)
	}
	swap(typed("venues", text))
	var all, none, ten []string
	for i := range 12 {
		id := fmt.Sprintf("v%02d", i)
		all, none = append(all, `{"id": "`+id+`", "p": "x"}`), append(none, `{"id": "`+id+`", "p": null}`)
		if i < 10 {
			ten = append(ten, `"`+id+`" of the network "main"`)
		}
	}
	write("[" + strings.Join(all, ", ") + `, {"id": "w", "in": {"p": "x"}, "list": ["x", "y"], "map": {"a": "x"}}]`)
	want := []string{`schemas/venues.json#/properties/p: stored values are of other types (string), in 12 objects: ` + strings.Join(ten, ", ") + ", … (use a new property"}
	for _, place := range []string{"in/properties/p", "list/items", "map/additionalProperties"} {
		want = append(want, "#/properties/"+place+`: stored values are of other types (string), in 1 object: "w" of the network "main" (use`)
	}
	refusedBy(t, s.Swap(s.Engine, typed("venues", number)), want...)
	refusedBy(t, restart(s, typed("venues", number)), want...)
	s.Must(token, http.MethodPost, "/api/v1/venues/v00?context=main", `{"p": "y"}`, http.StatusOK) // under the set that is served still
	swap(service.TypeWith("venues", "", `"name": {"type": "string"}`))
	refusedBy(t, s.Swap(s.Engine, typed("venues", number)), want...)

	swap(typed("venues", both))
	write(`[{"id": "w", "in": {"p": 5}, "list": [5], "map": {"a": 5}}]`)
	err = s.Swap(s.Engine, typed("venues", number))
	refusedBy(t, err, want[0])
	process.Shuns(t, err.Error(), "list", "map", "/in/")
	refusedBy(t, s.Swap(s.Engine, typed("venues", text)), "(number), in 1 object")
	write("[" + strings.Join(none, ", ") + "]")
	swap(typed("venues", number))
	if err := restart(s, typed("venues", number)); err != nil {
		t.Error(err)
	}
	swap(typed("venues", `{"type": "integer"}`))
	swap(typed("venues", number))
	write(`[{"id": "v00", "p": 1.5}]`)
	// One that is wider again can be written, and refuses nothing.
	swap(typed("venues", both))
	write(`[{"id": "v01", "p": "x"}]`)
	refusedBy(t, s.Swap(s.Engine, typed("venues", number)), `(string), in 1 object: "v01"`)
	refusedBy(t, s.Swap(s.Engine, typed("venues", `{"type": "null"}`)), "(number or string), in 2 objects")
	refusedBy(t, s.Swap(s.Engine, typed("venues", `{"not": {"type": "string"}}`)), `(string), in 1 object: "v01"`)
	swap(typed("venues", `{"oneOf": [{"type": "string"}, {"minimum": 1}]}`))
	refusedBy(t, s.Swap(s.Engine, typed("venues", text)), `(number), in 1 object: "v00"`)
	write(`[{"id": "v00", "p": null}, {"id": "v01", "p": null}, {"id": "w", "in": {"p": null}, "list": [], "map": {}}]`)
	swap(typed("venues", `{"type": "null"}`))
}

// TestSchemaOtherTypeWhileWriting serves another type while an object is written with the one
// before: the set is served, or the object is there.
func TestSchemaOtherTypeWhileWriting(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaOtherTypeWhileWriting)
}

func testSchemaOtherTypeWhileWriting(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	served, refused := 0, 0
	for round := range 8 {
		path := fmt.Sprint("venues", round)
		if err := s.Swap(s.Engine, typed(path, `{"type": "string"}`)); err != nil {
			t.Fatal(err)
		}
		s.Must(token, http.MethodPost, "/api/v1/"+path+"?context=main", "["+strings.Repeat("{}, ", 999)+"{}]", http.StatusOK)
		begin := make(chan struct{})
		var writer sync.WaitGroup
		var late *service.Answer
		writer.Go(func() {
			<-begin
			for range 20 * round { // to write a little later each time
				s.Ask(token, http.MethodGet, "/api/v1/"+path+"/none?context=main", "", nil)
			}
			late = s.Ask(token, http.MethodPost, "/api/v1/"+path+"/late?context=main", `{"in": {"p": "x"}}`, nil)
		})
		close(begin)
		err := s.Swap(s.Engine, typed(path, `{"type": "number"}`))
		writer.Wait()
		if err == nil {
			served++
			if late.Status < 300 {
				t.Errorf("round %d: the schema is served, and so is an object with another type: %s", round, late.Body)
			}
			continue
		}
		refused++
		refusedBy(t, err, `(string), in 1 object: "late"`)
		if late.Status != http.StatusCreated {
			t.Errorf("round %d: %d %s", round, late.Status, late.Body)
		}
	}
	t.Log("served", served, "refused", refused)
}

// TestServersReloadOtherType serves another type on one server while another writes by the
// schema before: it is served there only without such objects, and none comes later.
func TestServersReloadOtherType(t *testing.T) {
	t.Parallel()
	const text, number = `{"type": "string"}`, `{"type": "number"}`
	servers, token := service.NewPlainServers(t, 2, typed("venues", text))
	here, there := servers[0], servers[1]
	there.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"p": "x"}`, http.StatusCreated)
	refusedBy(t, here.Swap(here.Engine, typed("venues", number)), "(string), in 1 object")
	there.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"p": null}`, http.StatusOK)
	if err := here.Swap(here.Engine, typed("venues", number)); err != nil {
		t.Fatal(err)
	}
	there.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"p": "x"}`, http.StatusServiceUnavailable)
	there.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"name": "V"}`, http.StatusOK)
	if err := there.Swap(there.Engine, typed("venues", number)); err != nil {
		t.Fatal(err)
	}
	there.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"p": 5}`, http.StatusOK)
}
