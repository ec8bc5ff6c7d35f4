package reload

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"golang.org/x/tools/txtar"

	"marquee/engine/document"
	"marquee/engine/migration"
	"marquee/engine/schema"
	"marquee/engine/schema/diff"
	"marquee/engine/transfer"
	"marquee/engine/verify"
	"marquee/integration/process"
	"marquee/integration/service"
)

// change is one of the changes of a domain (../testdata/domains/README.md).
type change struct {
	name string
	// Schemas are merge patches of the files, by their names.
	Schemas map[string]any
	// Diff are the rules that marquee schema diff names.
	Diff []string
	// Export is what an export shows to be different.
	Export [][]any
	// Writes are requests of the team before the set is served: a method, a path and a body.
	Writes [][3]any
	// Refused is in the reason for which the set is not served, "" if it is.
	Refused string
	// Prune is a type and a property whose values are removed.
	Prune [2]string
}

// domain is a service whose schemas change, and the client of its first day, which does not.
type domain struct {
	*testing.T
	*service.Service
	token string
	files map[string]any
	// hidden are the values of properties that the schemas do not declare any more.
	hidden map[string]any
	// first is the set of the first day, and plain has the schemas with which the client reads.
	first *schema.Registry
	plain map[string]*jsonschema.Schema
	// objects are the paths of those of the first day, and requests what the client sends.
	objects  []string
	requests []string
	// held counts the requests that worked, and excused those of which the comparison says
	// that they may not.
	held, excused int
}

// TestDomains changes the schemas of domains. What each change does to objects, answers and
// the client of the first day follows from the comparison of the sets.
func TestDomains(t *testing.T) { service.EachStore(t, testDomains) }

func testDomains(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	files, err := filepath.Glob("../testdata/domains/*.txtar")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			if i > 0 {
				process.SkipLong(t)
			} else if strings.Contains(t.Name(), "/mongodb/") {
				process.SkipCoveredBy(t, "TestDomains/sqlite")
			}
			t.Parallel()
			d, changes := openDomain(t, fresh, file)
			if len(changes) < 20 {
				t.Errorf("there are %d changes", len(changes))
			}
			for i, c := range changes {
				d.change(i+1, c)
			}
			t.Log(d.held, "requests worked, and", d.excused, "were refused or read something else")
			if d.held < 100 || d.excused < 50 {
				t.Error("which is too few to tell")
			}
		})
	}
}

// openDomain serves the schemas of the first day of a domain, and writes its objects.
func openDomain(t *testing.T, fresh service.NewStore, file string) (*domain, []change) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := &domain{T: t, files: map[string]any{}, hidden: map[string]any{}, plain: map[string]*jsonschema.Schema{}}
	var objects []struct {
		Type   string
		Object struct{ ID string }
	}
	var changes []change
	var written string
	for _, f := range archive.Files {
		name, isSchema := strings.CutPrefix(f.Name, "schemas/")
		switch {
		case isSchema:
			d.files[strings.TrimSuffix(name, ".json")] = decoded(t, f.Data)
		case f.Name == "objects.json":
			written = fmt.Sprintf(`{"operations": %s}`, f.Data)
			err = json.Unmarshal(f.Data, &objects)
		case f.Name == "requests":
			d.requests = strings.Split(strings.TrimSpace(string(f.Data)), "\n\n")
		default:
			c := change{name: f.Name}
			decoder := json.NewDecoder(strings.NewReader(string(f.Data)))
			decoder.UseNumber()
			decoder.DisallowUnknownFields()
			err = decoder.Decode(&c)
			changes = append(changes, c)
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
	}
	d.Service = service.NewPlain(t, fresh, d.folder())
	if d.token, err = d.SignIn(service.Admin); err != nil {
		t.Fatal(err)
	}
	d.Must(d.token, http.MethodPost, "/api/v1/batch?context=main", written, http.StatusOK)
	for _, o := range objects {
		d.objects = append(d.objects, "/api/v1/"+o.Type+"/"+o.Object.ID+"?context=main")
	}
	d.first = d.Engine.Registry()
	for name := range d.files {
		if d.plain[name], err = d.PlainSchema(name); err != nil {
			t.Fatal(err)
		}
	}
	d.client(0)
	if d.excused > 0 || d.held != len(d.requests) {
		t.Fatalf("on the first day, %d of %d requests work", d.held, len(d.requests))
	}
	return d, changes
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	value, err := service.Decode(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

func (d *domain) folder() fs.FS {
	folder := fstest.MapFS{}
	for name, content := range d.files {
		folder[name+".json"] = &fstest.MapFile{Data: []byte(service.JSONText(content))}
	}
	return folder
}

// change serves the schemas after one change.
func (d *domain) change(n int, c change) {
	d.Helper()
	for _, w := range c.Writes {
		method, path := w[0].(string), w[1].(string)
		if a := d.Ask(d.token, method, path, service.JSONText(w[2]), nil); a.Status > 299 {
			d.Fatalf("%s: %s %s: %d %s", c.name, method, path, a.Status, a.Body)
		}
	}
	before := d.Engine.Registry()
	exported, read, wrong := d.export(), d.read(), d.wrong()
	files := maps.Clone(d.files)
	d.files = document.MergePatch(nil, d.files, map[string]any(c.Schemas)).(map[string]any)
	types, err := d.Options.Application.Load(schema.Source{Name: "schemas", FS: d.folder()})
	if err != nil {
		d.Fatalf("%s: %v", c.name, err)
	}
	found := diff.Sets(before, types)
	var rules []string
	for _, difference := range found {
		rules = append(rules, difference.Rule)
	}
	if slices.Sort(rules); !slices.Equal(rules, slices.Sorted(slices.Values(c.Diff))) {
		d.Errorf("%s: the differences are\n%s", c.name, lines(found))
	}
	hidden := int64(0)
	err = verify.CheckProposed(d.Context(), d.Engine.Catalog, verify.Proposal{Before: before, Proposed: types, Progress: func(string, int64) error { return nil }, Finding: func(f *verify.Finding) error {
		if f.Rule == verify.RuleHidden {
			hidden += f.Objects
		}
		return nil
	}})
	if removes := slices.Contains(rules, "property-removed"); err != nil || removes != (hidden > 0) {
		d.Errorf("%s: %d values would be hidden: %v\n%s", c.name, hidden, err, lines(found))
	}
	switch err := d.Marquee.Migrate(d.Context(), types); {
	case c.Refused != "" && (err == nil || !strings.Contains(err.Error(), c.Refused)):
		d.Fatalf("%s: it is not refused, or for another reason: %v", c.name, err)
	case c.Refused == "" && err != nil:
		d.Fatalf("%s: %v", c.name, err)
	case c.Refused != "":
		d.files, types, found = files, before, nil
	}
	if err := d.Engine.Amend(d.Context(), slog.New(slog.DiscardHandler)); err != nil {
		d.Fatal(err)
	}
	if name := c.Prune[0]; name != "" {
		t, err := d.Engine.Type(name)
		if err != nil {
			d.Fatal(err)
		}
		place, err := migration.PrunedPlace(t, c.Prune[1])
		if err == nil {
			err = d.Engine.Prune(d.Context(), t.Name, place)
		}
		if places, other := migration.Undeclared(d.Context(), d.Store, t, ""); err != nil || other != nil || len(places) > 0 {
			d.Fatalf("%s: %v %v %v", c.name, err, other, places)
		}
	}
	want, is := d.expected(c, exported), d.export()
	for key := range maps.Keys(want) {
		if !reflect.DeepEqual(want[key], is[key]) {
			d.Errorf("%s: %s is exported as\n%s\ninstead of\n%s", c.name, key, service.JSONText(is[key]), service.JSONText(want[key]))
		}
	}
	if len(is) != len(want) {
		d.Errorf("%s: there are %d objects instead of %d", c.name, len(is), len(want))
	}
	d.compare(c, before, types, found, read)
	for object, kind := range d.wrong() {
		if wrong[object] == "" && !concerns(found, before, types, diff.Stored, kind, "") {
			d.Errorf("%s: %s is invalid, of which the comparison says nothing:\n%s", c.name, object, lines(found))
		}
	}
	d.client(n)
	if d.Failed() {
		d.FailNow()
	}
}

func lines(found []diff.Difference) string {
	var b strings.Builder
	for _, difference := range found {
		fmt.Fprintln(&b, difference)
	}
	return b.String()
}

// export returns all objects of the domain as they are exported, by their types and ids.
func (d *domain) export() map[string]map[string]any {
	d.Helper()
	file, err := os.Create(filepath.Join(d.TB.TempDir(), "export"))
	if err != nil {
		d.Fatal(err)
	}
	defer file.Close()
	registry := d.Engine.Registry()
	if _, err := (transfer.Export{Engine: d.Engine, Types: transfer.Order(registry, registry.Types()), Envelopes: true}).Write(d.Context(), file); err != nil {
		d.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		d.Fatal(err)
	}
	objects := map[string]map[string]any{}
	for line := range strings.Lines(string(text)) {
		entry := decoded(d.T, []byte(line)).(map[string]any)
		kind, object := entry["type"].(string), entry["object"].(map[string]any)
		if _, own := d.files[kind]; own || entry["context"] != nil && kind != "roles" {
			objects[kind+"/"+object["id"].(string)] = object
		}
	}
	return objects
}

// expected returns an export as it is after a change.
func (d *domain) expected(c change, exported map[string]map[string]any) map[string]map[string]any {
	d.Helper()
	want := map[string]map[string]any{}
	for key, object := range exported {
		object = maps.Clone(object)
		kind, id, _ := strings.Cut(key, "/")
		for _, e := range c.Export {
			if e[1] != kind {
				continue
			}
			name := fmt.Sprint(e[2])
			value, there := object[name]
			switch e[0] {
			case "path":
				kind = name
			case "renamed":
				if delete(object, name); there {
					object[e[3].(string)] = value
				}
			case "hidden":
				if delete(object, name); there {
					d.hidden[key+"/"+name] = value
				}
			case "shown":
				if value, there = d.hidden[key+"/"+name]; there {
					object[name] = value
				}
			case "value":
				if value == e[3] {
					object[name] = e[4]
				}
			case "default":
				if !there {
					object[name] = e[3]
				}
			default:
				d.Fatalf("%s: there is no %v", c.name, e)
			}
		}
		want[kind+"/"+id] = object
	}
	return want
}

// read returns the objects of the first day, by the paths that they had.
func (d *domain) read() map[string]map[string]any {
	objects := map[string]map[string]any{}
	for _, path := range d.objects {
		if a := d.Ask(d.token, http.MethodGet, path, "", nil); a.Status == http.StatusOK {
			objects[path] = a.JSON().(map[string]any)
		}
	}
	return objects
}

// compare checks that objects are answered as before, except for what the comparison reports.
func (d *domain) compare(c change, before, after *schema.Registry, found []diff.Difference, read map[string]map[string]any) {
	d.Helper()
	now := d.read()
	for path, object := range read {
		kind := strings.Split(path, "/")[3]
		for name, value := range object {
			if name == "updateTime" || name == "url" || name == "validationWarnings" || reflect.DeepEqual(ids(value), ids(now[path][name])) {
				continue
			}
			stored := name
			if t, ok := before.Type(kind); ok {
				stored = t.StoredName(name)
			}
			if !concerns(found, before, after, diff.Response, kind, stored) && !concerns(found, before, after, diff.Stored, kind, stored) {
				d.Errorf("%s: %s has %s %v instead of %v, of which the comparison says nothing:\n%s", c.name, path, name, now[path][name], value, lines(found))
			}
		}
	}
}

// ids returns a value with the ids of references alone.
func ids(value any) any {
	switch v := value.(type) {
	case []any:
		list := slices.Clone(v)
		for i, item := range list {
			list[i] = ids(item)
		}
		return list
	case map[string]any:
		if v["id"] != nil && v["url"] != nil {
			return v["id"]
		}
	}
	return value
}

// wrong returns the types of the objects that marquee check finds fault with.
func (d *domain) wrong() map[string]string {
	d.Helper()
	wrong := map[string]string{}
	err := verify.Verify(d.Context(), d.Engine.Catalog, verify.Verification{
		Fault: func(f verify.Fault) error {
			t, _ := d.Engine.Registry().Named(f.Type)
			wrong[t.Name+"/"+f.ID] = t.Name
			return nil
		},
		Progress: func(*schema.Type, int64) error { return nil },
	})
	if err != nil {
		d.Fatal(err)
	}
	return wrong
}

// concerns reports whether a difference of a class is about a property of a type, by its stored
// name, or about more than one property. Without a name, every property is meant.
func concerns(found []diff.Difference, before, after *schema.Registry, class diff.Class, kind, property string) bool {
	return slices.ContainsFunc(found, func(difference diff.Difference) bool {
		if t, ok := after.Named(difference.Type); !ok || t.Name != kind || !difference.Is(class) {
			return false
		}
		set := after
		if difference.Old {
			set = before
		}
		rest, within := strings.CutPrefix(difference.Pointer, "/properties/")
		name, _, _ := strings.Cut(rest, "/")
		if t, ok := set.Type(kind); ok {
			name = t.StoredName(name)
		}
		return property == "" || !within || name == property
	})
}
