package reload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"

	"marquee"
	"marquee/engine/schema"
	"marquee/integration/process"
	"marquee/integration/service"
)

// restart opens another engine on the store, as the next start of the program
// does with a folder of schemas.
func restart(s *service.Service, folder fs.FS) error {
	registry, err := s.Load(folder)
	if err != nil {
		s.TB.Fatal(err)
	}
	options := s.Options
	options.Types = registry
	_, err = marquee.Open(context.Background(), options)
	return err
}

// refusedBy demands the problems of a set that does not suit the stored objects.
func refusedBy(t *testing.T, err error, want ...string) {
	t.Helper()
	var problems schema.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("not refused: %v", err)
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v\nlacks %s", err, text)
		}
	}
}

// TestSchemaOtherTarget serves schemas whose references lead elsewhere than
// those that are stored.
func TestSchemaOtherTarget(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaOtherTarget)
}

func testSchemaOtherTarget(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	const text, advertisers, orders = `{"type": "string"}`, `{"x-ref": "advertisers"}`, `{"x-ref": "orders"}`
	owned := func(path, owner string) fs.FS {
		return service.TypeWith(path, "", `"name": {"type": "string"}, "owner": `+owner+`, "parts": {"type": "array", "items": {"type": "object", "properties": {"owner": `+owner+`}}},
			"map": {"type": "object", "additionalProperties": `+owner+`}, "again": {"type": "array", "items": {"$ref": "#/properties/parts/items"}}`)
	}
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/advertisers?context=main", `{"id": "a", "name": "A"}`, http.StatusOK)
	s.Must(token, http.MethodPost, "/api/v1/rulesets?context=main", `{"id": "size", "name": "R", "type": "SIZE"}`, http.StatusOK)
	n := 0
	for name, c := range map[string]struct {
		before, object, after string
		// refused is what the problem says; nothing where the set is served.
		refused []string
	}{
		"another target": {advertisers, `"owner": "a"`, orders, []string{`schemas/venues.json#/properties/owner/x-ref: the object "v" refers to advertisers here`, "use a new property"}},
		"another target, in an array": {advertisers, `"parts": [{}, {"owner": "a"}]`, orders, []string{
			`schemas/venues.json#/properties/parts/items/properties/owner/x-ref: the object "v" refers to advertisers here`}},
		"another target, in a map":         {advertisers, `"map": {"x": "a"}`, orders, []string{`schemas/venues.json#/properties/map/additionalProperties/x-ref: the object "v"`}},
		"another target, beside the same":  {advertisers, `"again": [{"owner": "a"}]`, orders, []string{`schemas/venues.json#/properties/again/items/properties/owner/x-ref: the object "v"`}},
		"another target, without a value":  {advertisers, `"name": "n"`, orders, nil},
		"texts that are no ids":            {text, `"owner": "nobody"`, advertisers, []string{`schemas/venues.json#/properties/owner/x-ref: the object "v" holds "nobody" here, and there is no such object of advertisers`}},
		"texts that are ids":               {text, `"owner": "a"`, advertisers, nil},
		"a narrower target":                {`{"x-ref": "rulesets"}`, `"owner": "size"`, `{"x-ref": {"type": "rulesets", "where": {"type": "TARGETING"}}}`, []string{`"size" here, whose type is not TARGETING`}},
		"a narrower target that all match": {`{"x-ref": "rulesets"}`, `"owner": "size"`, `{"x-ref": {"type": "rulesets", "where": {"type": "SIZE"}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n++
			path := fmt.Sprint("venues", n)
			if err := s.Swap(s.Engine, owned(path, c.before)); err != nil {
				t.Fatal(err)
			}
			s.Must(token, http.MethodPost, "/api/v1/"+path+"?context=main", `{"id": "v", `+c.object+`}`, http.StatusOK)
			err = s.Swap(s.Engine, owned(path, c.after))
			restarted := restart(s, owned(path, c.after))
			for i, text := range c.refused {
				c.refused[i] = strings.ReplaceAll(text, "venues", path)
			}
			if c.refused == nil {
				if err != nil || restarted != nil {
					t.Fatal(err, restarted)
				}
				return
			}
			refusedBy(t, err, c.refused...)
			refusedBy(t, restarted, c.refused...)
			// By way of a set that does not have the property, nothing changes.
			if err := s.Swap(s.Engine, service.TypeWith(path, "", `"name": {"type": "string"}`)); err != nil {
				t.Fatal(err)
			}
			refusedBy(t, s.Swap(s.Engine, owned(path, c.after)), c.refused...)
			// The set before is served, and the cure helps.
			if err := s.Swap(s.Engine, owned(path, c.before)); err != nil {
				t.Fatal(err)
			}
			s.Must(token, http.MethodPost, "/api/v1/"+path+"?context=main", `{"id": "v", "owner": null, "parts": null, "map": null, "again": null}`, http.StatusOK)
			if err := s.Swap(s.Engine, owned(path, c.after)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestSchemaOtherTargetWhileWriting serves a schema with another target while
// an object is written that refers to the one before: it is served, or the
// object is there.
func TestSchemaOtherTargetWhileWriting(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaOtherTargetWhileWriting)
}

func testSchemaOtherTargetWhileWriting(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/advertisers?context=main", `{"id": "a", "name": "A"}`, http.StatusOK)
	served, refused, step := 0, 0, 1
	if testing.Short() {
		step = 5
	}
	for round := 0; round < 30; round += step {
		path := fmt.Sprint("venues", round)
		owned := func(target string) fs.FS { return service.TypeWith(path, "", `"owner": {"x-ref": "`+target+`"}`) }
		if err := s.Swap(s.Engine, owned("advertisers")); err != nil {
			t.Fatal(err)
		}
		s.Must(token, http.MethodPost, "/api/v1/"+path+"?context=main", "["+strings.Repeat("{}, ", 999)+"{}]", http.StatusOK)
		begin := make(chan struct{})
		var writer sync.WaitGroup
		var late *service.Answer
		writer.Go(func() {
			<-begin
			for range round { // to write a little later each time
				s.Ask(token, http.MethodGet, "/api/v1/"+path+"/none?context=main", "", nil)
			}
			late = s.Ask(token, http.MethodPost, "/api/v1/"+path+"/late?context=main", `{"owner": "a"}`, nil)
		})
		close(begin)
		err := s.Swap(s.Engine, owned("orders"))
		writer.Wait()
		if err == nil {
			served++
			if late.Status < 300 {
				t.Errorf("round %d: the schema is served, and so is an object that refers to what it does not: %s", round, late.Body)
			}
			continue
		}
		refused++
		refusedBy(t, err, "refers to advertisers here")
		if late.Status != http.StatusCreated {
			t.Errorf("round %d: %d %s", round, late.Status, late.Body)
		}
	}
	t.Log("served", served, "refused", refused)
}

// TestSchemaOtherKind serves schemas that order by properties of which values
// of another kind are stored.
func TestSchemaOtherKind(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaOtherKind)
}

func testSchemaOtherKind(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	const sorted, indexed = `, "sort": ["p"]`, `, "index": ["p"]`
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, c := range map[string]struct {
		resource, before, value string
		resourceAfter, after    string
		refused                 []string
	}{
		"text to number":             {sorted, `{"type": "string"}`, `"5"`, sorted, `{"type": "number"}`, []string{`schemas/venues.json#/properties/p: the object "v" holds a string here, and lists are ordered by numbers`, "use a new property"}},
		"number to text, index":      {indexed, `{"type": "number"}`, `5`, indexed, `{"type": "string"}`, []string{`the object "v" holds a number here`}},
		"two kinds become one":       {"", `{"type": ["string", "number"]}`, `5`, sorted, `{"type": "string"}`, []string{`the object "v" holds a number here`}},
		"an object becomes a number": {"", `{"type": "object"}`, `{}`, sorted, `{"type": "number"}`, []string{`the object "v" holds an object here`}},
		"texts become one":           {"", `{"type": "array", "items": {"type": "string"}}`, `["x"]`, sorted, `{"type": "string"}`, []string{`the object "v" holds an array here`}},
		"integer to number":          {sorted, `{"type": "integer"}`, `5`, sorted, `{"type": ["number", "null"]}`, nil},
		"no order":                   {sorted, `{"type": "string"}`, `"5"`, "", `{"type": "number"}`, []string{`schemas/venues.json#/properties/p: stored values are of other types (string), in 1 object: "v" of the network "main"`, "use a new property"}},
		"two kinds, one stored":      {"", `{"type": ["string", "number"]}`, `5`, sorted, `{"type": "number"}`, nil},
		"text to number, no value":   {sorted, `{"type": "string"}`, `null`, sorted, `{"type": "number"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n++
			path := fmt.Sprint("venues", n)
			for i, text := range c.refused {
				c.refused[i] = strings.ReplaceAll(text, "venues", path)
			}
			if err := s.Swap(s.Engine, service.TypeWith(path, c.resource, `"p": `+c.before)); err != nil {
				t.Fatal(err)
			}
			s.Must(token, http.MethodPost, "/api/v1/"+path+"?context=main", `[{"id": "v", "p": `+c.value+`}, {"id": "w"}]`, http.StatusOK)
			after := service.TypeWith(path, c.resourceAfter, `"p": `+c.after)
			err, restarted := s.Swap(s.Engine, after), restart(s, after)
			if c.refused == nil {
				if err != nil || restarted != nil {
					t.Fatal(err, restarted)
				}
				return
			}
			refusedBy(t, err, c.refused...)
			refusedBy(t, restarted, c.refused...)
			// Not in two steps either.
			refusedBy(t, s.Swap(s.Engine, service.TypeWith(path, "", `"p": `+c.after)), "stored values are of other types")
			if err := s.Swap(s.Engine, service.TypeWith(path, "", `"q": `+c.after)); err != nil {
				t.Fatal(err)
			}
			refusedBy(t, s.Swap(s.Engine, after), c.refused...)
			if err := s.Swap(s.Engine, service.TypeWith(path, c.resource, `"p": `+c.before)); err != nil {
				t.Fatal(err)
			}
			s.Must(token, http.MethodPost, "/api/v1/"+path+"?context=main", `{"id": "v", "p": null}`, http.StatusOK)
			if err := s.Swap(s.Engine, after); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestServersReloadOtherTarget serves another target on one server while
// another writes by the schema before: it is served there only without such
// objects, and none comes later.
func TestServersReloadOtherTarget(t *testing.T) {
	t.Parallel()
	owned := func(target string) fs.FS { return service.TypeWith("venues", "", `"owner": {"x-ref": "`+target+`"}`) }
	servers, token := service.NewServers(t, 2, owned("advertisers"))
	here, there := servers[0], servers[1]
	here.Must(token, http.MethodPost, "/api/v1/advertisers?context=main", `{"id": "a", "name": "A"}`, http.StatusOK)
	there.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"owner": "a"}`, http.StatusCreated)
	refusedBy(t, here.Swap(here.Engine, owned("orders")), `the object "v" refers to advertisers here`)
	there.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"owner": null}`, http.StatusOK)
	if err := here.Swap(here.Engine, owned("orders")); err != nil {
		t.Fatal(err)
	}
	there.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"owner": "a"}`, http.StatusServiceUnavailable)
	here.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"owner": "a"}`, http.StatusUnprocessableEntity)
	if err := there.Swap(there.Engine, owned("orders")); err != nil {
		t.Fatal(err)
	}
	there.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"owner": "a"}`, http.StatusUnprocessableEntity)
}
