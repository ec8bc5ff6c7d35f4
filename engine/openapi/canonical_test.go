package openapi_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/openapi"
	"marquee/engine/schema"
	"marquee/resources"
)

// document is an OpenAPI document, as far as tests look at it.
type document struct {
	Info       struct{ Version string }
	Servers    []struct{ URL string }
	Tags       []struct{ Description string }
	Security   []map[string]any
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas         map[string]any
		Parameters      map[string]parameter
		SecuritySchemes map[string]any `json:"securitySchemes"`
	}
}

type parameter struct {
	Ref, Name string
	Required  bool
}

func (p *parameter) UnmarshalJSON(text []byte) error {
	var fields struct {
		Ref      string `json:"$ref"`
		Name     string
		Required bool
	}
	err := json.Unmarshal(text, &fields)
	*p = parameter(fields)
	return err
}

type operation struct {
	OperationID string `json:"operationId"`
	Parameters  []parameter
	Responses   map[string]any
}

func read(tb testing.TB, types *schema.Registry, o openapi.Options) (d document) {
	tb.Helper()
	app := resources.New().Application()
	text, err := app.Document(types, o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		tb.Fatal(err)
	}
	return d
}

// operations yields the operations of a document, and the parameters of their paths.
func (d document) operations(tb testing.TB, yield func(path, method string, shared []parameter, o operation)) {
	tb.Helper()
	for path, item := range d.Paths {
		var shared []parameter
		if raw, has := item["parameters"]; has {
			if err := json.Unmarshal(raw, &shared); err != nil {
				tb.Fatal(err)
			}
		}
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var o operation
			if err := json.Unmarshal(raw, &o); err != nil {
				tb.Fatal(err)
			}
			yield(path, method, shared, o)
		}
	}
}

// TestCanonicalOperations checks that each path has one operation for what several
// methods do, unless all are asked for.
func TestCanonicalOperations(t *testing.T) {
	methods := func(d document, path string) []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(d.Paths[path])), func(name string) bool { return name == "parameters" })
	}
	short, all := read(t, load(t), openapi.Options{}), read(t, load(t), openapi.Options{All: true})
	for path, want := range map[string][2]string{
		"/api/v1/orders":                 {"get post", "get head post put"},
		"/api/v1/orders/{id}":            {"get patch put", "get head patch post put"},
		"/api/v1/sspconnections":         {"get", "get head"},
		"/api/v1/batch":                  {"post", "post put"},
		"/api/v1/segments/upload":        {"post", "post put"},
		"/api/authenticate":              {"post", "post"},
		"/healthz":                       {"get", "get head"},
		"/api/v1/assets/{creative}":      {"get post", "get head post"},
		"/api/v1/assets/{creative}/{id}": {"get patch put", "get head patch post put"},
	} {
		if found := strings.Join(methods(short, path), " "); found != want[0] {
			t.Errorf("%s has %s instead of %s", path, found, want[0])
		}
		if found := strings.Join(methods(all, path), " "); found != want[1] {
			t.Errorf("%s has %s instead of %s among all", path, found, want[1])
		}
	}
}

// TestOperations checks what holds for every operation: another response than those that
// are described is a problem, and required parameters come first.
func TestOperations(t *testing.T) {
	d := read(t, load(t), openapi.Options{All: true})
	d.operations(t, func(path, method string, shared []parameter, o operation) {
		if o.Responses["default"] == nil {
			t.Errorf("%s %s has no default response", method, path)
		}
		optional := ""
		for _, p := range slices.Concat(shared, o.Parameters) {
			if p.Ref != "" {
				p = d.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
			}
			switch {
			case !p.Required:
				optional = p.Name
			case optional != "":
				t.Errorf("%s %s: %s is required, and comes after %s", method, path, p.Name, optional)
			}
		}
	})
}

// TestNewTypesRenameNothing adds types whose paths and titles are those of others, of
// shared definitions and of components, and expects all other names to stay.
func TestNewTypesRenameNothing(t *testing.T) {
	names := func(d document) map[string]bool {
		found := map[string]bool{}
		for name := range d.Components.Schemas {
			found[name] = true
		}
		d.operations(t, func(_, _ string, _ []parameter, o operation) { found[o.OperationID] = true })
		return found
	}
	added := fstest.MapFS{}
	for _, path := range []string{"money", "targeting", "problem", "order", "batch1", "reference", "history", "sessions", "a"} {
		added[path+".json"] = &fstest.MapFile{Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Order",
			"x-resource": {"path": "` + path + `"}, "type": "object", "properties": {"name": {"type": "string"}}}`)}
	}
	types, err := resources.LoadSchemas(schema.Source{Name: "added", FS: added})
	if err != nil {
		t.Fatal(err)
	}
	after := names(read(t, types, openapi.Options{}))
	for name := range names(read(t, load(t), openapi.Options{})) {
		if !after[name] {
			t.Errorf("%s has another name", name)
		}
	}
}

// TestServer checks that a document names the server if its URL is known, and that
// clients are told of one place for the token.
func TestServer(t *testing.T) {
	d := read(t, load(t), openapi.Options{Server: "https://ads.example.com"})
	if d.Servers[0].URL != "https://ads.example.com" || !strings.Contains(d.Tags[len(d.Tags)-1].Description, "(https://ads.example.com/docs/types/") {
		t.Errorf("servers %v, tags %v", d.Servers, d.Tags[len(d.Tags)-1])
	}
	if d = read(t, load(t), openapi.Options{}); d.Servers[0].URL != "/" || d.Info.Version != "1" {
		t.Errorf("servers %v, version %q", d.Servers, d.Info.Version)
	}
	for _, alternative := range d.Security {
		if alternative["bearer"] == nil && alternative["password"] == nil {
			t.Errorf("%v is a place for the token besides Authorization", alternative)
		}
	}
}
