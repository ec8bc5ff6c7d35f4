package migration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee"
	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/schema"
)

type object = map[string]any

// A things is the type of the tests: its x-resource beside the path, its keywords at the
// root, and its properties. The type others is there for references.
type things struct{ resource, root, properties string }

func (v things) folder() fstest.MapFS {
	return fstest.MapFS{
		"things.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Thing",
			"x-resource": {"path": "things"` + v.resource + `}, "type": "object"` + v.root + `, "properties": {` + v.properties + `}}`)},
		"others.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Other",
			"x-resource": {"path": "others"}, "type": "object", "properties": {"name": {"type": "string"}}}`)},
	}
}

// migrations are changes of a type while objects are stored.
var migrations = map[string]struct {
	before, after things
	objects       []object
	// refused is part of the reason why the new schemas are refused; "" if they are served.
	refused string
	// repair are the objects that have to be written for them to be served.
	repair []object
	// found are the ids that parameters of a list find afterwards, and taken is an object
	// that cannot be created.
	found map[string][]string
	taken object
}{
	"a search finds the words of stored objects": {
		before:  things{properties: `"name": {"type": "string"}`},
		after:   things{resource: `, "search": ["name"]`, properties: `"name": {"type": "string"}`},
		objects: []object{{"id": "a", "name": "Old opera"}, {"id": "b", "name": "New hall"}},
		found:   map[string][]string{"q=opera": {"a"}, "q=hall": {"b"}, "q=none": {}},
	},
	"a list is ordered by stored values": {
		before:  things{properties: `"n": {"type": "integer"}`},
		after:   things{resource: `, "sort": ["n"], "index": ["n"]`, properties: `"n": {"type": "integer"}`},
		objects: []object{{"id": "a", "n": 2}, {"id": "b", "n": 1}, {"id": "c"}},
		found:   map[string][]string{"orderBy=n": {"c", "b", "a"}, "where=n>1": {"a"}},
	},
	"an order by values of another type is refused": {
		before:  things{resource: `, "sort": ["n"]`, properties: `"n": {"type": "string"}`},
		after:   things{resource: `, "sort": ["n"]`, properties: `"n": {"type": "integer"}`},
		objects: []object{{"id": "a", "n": "2"}},
		refused: "things.json#/properties/n",
		repair:  []object{{"id": "a", "n": nil}},
		found:   map[string][]string{"orderBy=n": {"a"}},
	},
	"unique values must be so": {
		before:  things{properties: `"code": {"type": "string"}`},
		after:   things{resource: `, "unique": ["code"]`, properties: `"code": {"type": "string"}`},
		objects: []object{{"id": "a", "code": "x"}, {"id": "b", "code": "x"}, {"id": "c", "code": "y"}},
		refused: `"a" and "b"`,
		repair:  []object{{"id": "b", "code": "z"}},
		taken:   object{"code": "z"},
	},
	"unique values of some objects": {
		before: things{properties: `"code": {"type": "string"}, "open": {"type": "boolean"}`},
		after: things{resource: `, "unique": [{"properties": ["code"], "when": {"properties": {"open": {"const": true}}, "required": ["open"]}}]`,
			properties: `"code": {"type": "string"}, "open": {"type": "boolean"}`},
		objects: []object{{"id": "a", "code": "x", "open": true}, {"id": "b", "code": "x", "open": false}, {"id": "c", "code": "x"}},
		taken:   object{"code": "x", "open": true},
	},
	"intervals must not overlap": {
		before: things{properties: `"hall": {"type": "string"}, "from": {"type": "number"}, "to": {"type": "number"}`},
		after: things{root: `, "x-exclusive": [{"properties": ["hall"], "from": "from", "to": "to"}]`,
			properties: `"hall": {"type": "string"}, "from": {"type": "number"}, "to": {"type": "number"}`},
		objects: []object{{"id": "a", "hall": "h", "from": 1, "to": 3}, {"id": "b", "hall": "h", "from": 2, "to": 4}},
		refused: `"a" and "b"`,
		repair:  []object{{"id": "b", "from": 3}},
		taken:   object{"hall": "h", "from": 3.5, "to": 9},
	},
	"references to another type must exist": {
		before:  things{properties: `"to": {"type": "string"}`},
		after:   things{properties: `"to": {"x-ref": "others"}`},
		objects: []object{{"id": "a", "to": "one"}, {"id": "b", "to": "missing"}},
		refused: "things.json#/properties/to",
		repair:  []object{{"id": "b", "to": "one"}},
		found:   map[string][]string{"where=to=one": {"a", "b"}},
	},
	"a rule tolerates stored objects": {
		before:  things{properties: `"n": {"type": "integer"}`},
		after:   things{root: `, "x-validations": [{"rule": "!has(self.n) || self.n > 1", "code": "error.thing.n", "text": "Too few."}]`, properties: `"n": {"type": "integer"}`},
		objects: []object{{"id": "a", "n": 1}},
		taken:   object{"n": 1},
		found:   map[string][]string{"": {"a"}},
	},
}

// TestMigrations changes the type beside stored objects: what the new schema promises
// holds for them, or it is refused with the objects, and the previous one remains.
func TestMigrations(t *testing.T) {
	t.Parallel()
	for name, c := range migrations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.before)
			s.write("others", object{"id": "one"})
			s.write("things", c.objects...)
			err := s.change(c.after)
			if c.refused == "" && err != nil {
				t.Fatal(err)
			}
			if c.refused != "" {
				var problems schema.Problems
				if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("the reason is %v, without %s", err, c.refused)
				}
				s.write("things", c.repair...)
				if err := s.change(c.after); err != nil {
					t.Fatalf("after the repair: %v", err)
				}
			}
			for parameters, want := range c.found {
				if found := s.list(parameters); !slices.Equal(found, want) {
					t.Errorf("%s finds %v, not %v", parameters, found, want)
				}
			}
			if c.taken != nil {
				if _, err := s.Write(t.Context(), "house", "things", maps.Clone(c.taken)); err == nil {
					t.Errorf("%v is created", c.taken)
				}
			}
		})
	}
}

// TestRefusedMigration: a set that one type refuses changes no other type.
func TestRefusedMigration(t *testing.T) {
	t.Parallel()
	s := serve(t, things{properties: `"code": {"type": "string"}, "name": {"type": "string"}`})
	s.write("things", object{"id": "a", "code": "x", "name": "Opera"}, object{"id": "b", "code": "x"})
	if err := s.change(things{resource: `, "search": ["name"], "unique": ["code"]`, properties: `"code": {"type": "string"}, "name": {"type": "string"}`}); err == nil {
		t.Fatal("the set is served")
	}
	s.write("things", object{"id": "c", "code": "x"})
	if got := s.list("where=code=x"); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the list is %v", got)
	}
	if _, err := query.ParseList(map[string]string{"q": "opera"}, s.Engine().Fields(s.things()), "", time.Now()); err == nil {
		t.Error("the words that the refused set searches can be searched")
	}
}

// TestSecretIsSealed: values that become secrets leave the history, and come back in plain
// text when they are none any more.
func TestSecretIsSealed(t *testing.T) {
	t.Parallel()
	plain, secret := things{properties: `"key": {"type": "string"}`}, things{properties: `"key": {"type": "string", "x-secret": true}`}
	s := serve(t, plain)
	s.write("things", object{"id": "a", "key": "the value"})
	history := func() string {
		t.Helper()
		page, err := s.Engine().History(t.Context(), administrator, engine.HistoryPage{Network: "house", Type: s.things(), ID: "a", Paging: query.Paging{PageSize: 10}})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, part := range page.Body {
			text.Write(part)
		}
		return text.String()
	}
	if !strings.Contains(history(), "the value") {
		t.Fatal("the history does not have the value before it is a secret")
	}
	for i, version := range []things{secret, {properties: `"key": {"type": "string", "x-secret": false}`}} {
		if err := s.change(version); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(history(), "the value") {
			t.Errorf("the history has the value after change %d", i)
		}
		stored, err := s.Read(t.Context(), "house", "things", "a")
		if err != nil || stored["key"] != "the value" {
			t.Errorf("the value after change %d is %v: %v", i, stored["key"], err)
		}
	}
}

var administrator = &engine.Caller{System: true}

// server serves the type, on an SQLite store of its own.
type server struct {
	*marquee.Server
	t *testing.T
}

func serve(t *testing.T, v things) server {
	t.Helper()
	s, err := marquee.New(marquee.Options{Folder: t.TempDir(), Schemas: v.folder(), First: marquee.First{Network: "house", Password: "correct horse battery"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return server{s, t}
}

func (s server) change(v things) error {
	s.t.Helper()
	types, err := (&marquee.Application{}).Load(schema.Source{Name: "schemas", FS: v.folder()})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.Migrate(s.t.Context(), types)
}

func (s server) write(name string, objects ...object) {
	s.t.Helper()
	var list []map[string]any
	for _, o := range objects {
		list = append(list, maps.Clone(o))
	}
	if _, err := s.Write(s.t.Context(), "house", name, list...); err != nil {
		s.t.Fatal(err)
	}
}

func (s server) things() *schema.Type {
	s.t.Helper()
	found, err := s.Engine().Type("things")
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// list returns the ids of the objects that a list with parameters finds.
func (s server) list(parameters string) []string {
	s.t.Helper()
	values, err := url.ParseQuery(parameters)
	if err != nil {
		s.t.Fatal(err)
	}
	single := map[string]string{}
	for name := range values {
		single[name] = values.Get(name)
	}
	l, err := query.ParseList(single, s.Engine().Fields(s.things()), "", time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	page, err := s.Engine().List(s.t.Context(), administrator, s.things(), "house", engine.Listing{List: l})
	if err != nil {
		s.t.Fatal(err)
	}
	var decoded struct {
		Results []struct {
			ID string `json:"id"`
		} `json:"results"`
	}
	if err := json.Unmarshal(bytes.Join(page.Body, nil), &decoded); err != nil {
		s.t.Fatal(err)
	}
	ids := []string{}
	for _, result := range decoded.Results {
		ids = append(ids, result.ID)
	}
	return ids
}
