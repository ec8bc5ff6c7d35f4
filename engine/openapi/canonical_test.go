package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
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

// TestNewTypesChangeNothing adds a type that is the first or the last, of the same content
// as others, and expects every component and operation of the others to be the same.
func TestNewTypesChangeNothing(t *testing.T) {
	const content = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "x-resource": {"path": "%s"}, "type": "object", "required": ["name"],
		"properties": {"name": {"type": "string", "maxLength": 20, "x-immutable": true}, "at": {"type": "string", "format": "date-time"}, "of": {"type": "string", "x-ref": "mmm"}}}`
	build := func(application marquee.Application, names ...string) (d wholeDocument) {
		t.Helper()
		files := fstest.MapFS{}
		for _, name := range names {
			files[name+".json"] = &fstest.MapFile{Data: fmt.Appendf(nil, content, name)}
		}
		types, err := application.Load(schema.Source{Name: "own", FS: files})
		if err != nil {
			t.Fatal(err)
		}
		text, err := application.Document(types, openapi.Options{All: true})
		if err != nil || json.Unmarshal(text, &d) != nil {
			t.Fatal(err)
		}
		return d
	}
	// What lists all types, and the messages of those that take one.
	listing := []string{"schemas/Batch", "schemas/BatchResult"}
	for _, application := range []marquee.Application{{}, resources.New().Application()} {
		before := build(application, "mmm", "nnn")
		for _, added := range []string{"aaa", "zzz", "collection", "write", "network"} {
			after := build(application, "mmm", "nnn", added)
			for kind, components := range before.Components {
				for name, component := range components {
					if !slices.Contains(listing, kind+"/"+name) && !reflect.DeepEqual(after.Components[kind][name], component) {
						t.Errorf("with %s, %s/%s is %v instead of %v", added, kind, name, after.Components[kind][name], component)
					}
				}
			}
			for path, item := range before.Paths {
				if !reflect.DeepEqual(after.Paths[path], item) {
					t.Errorf("with %s, %s is %v instead of %v", added, path, after.Paths[path], item)
				}
			}
		}
	}
}

// wholeDocument has all components and operations of a document.
type wholeDocument struct {
	Paths      map[string]any
	Components map[string]map[string]any
}

// codes returns the codes of the responses of an operation.
func (d wholeDocument) codes(path, method string) (codes []string) {
	responses := d.Paths[path].(map[string]any)[method].(map[string]any)["responses"].(map[string]any)
	for _, value := range responses {
		response := value.(map[string]any)
		if ref, is := response["$ref"].(string); is {
			response = d.Components["responses"][ref[strings.LastIndex(ref, "/")+1:]].(map[string]any)
		}
		listed, _ := response["x-codes"].([]any)
		for _, code := range listed {
			codes = append(codes, code.(string))
		}
	}
	return codes
}

// TestCodes checks that operations have the codes of what they take, and no others.
func TestCodes(t *testing.T) {
	app := resources.New().Application()
	text, err := app.Document(load(t), openapi.Options{})
	var d wholeDocument
	if err != nil || json.Unmarshal(text, &d) != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, method string
		has, lacks   string
	}{
		{"/api/v1/devices", "get", "error.parameter.invalid error.token.missing error.rate.exceeded", "error.network.forbidden error.parameter.missing error.read.forbidden"},
		{"/api/v1/location", "get", "error.parameter.missing error.parameter.conflict", "error.network.forbidden"},
		{"/api/v1/targetingquery/articles2", "post", "error.network.forbidden error.parameter.missing", "error.version.mismatch"},
		{"/api/v1/orders", "get", "error.network.forbidden error.parameter.missing error.where.syntax", "error.version.mismatch"},
		{"/api/v1/orders/{id}", "put", "error.value.type error.version.mismatch", "error.body.not.objects error.password.common"},
	} {
		codes := d.codes(c.path, c.method)
		for _, code := range strings.Fields(c.has) {
			if !slices.Contains(codes, code) {
				t.Errorf("%s %s lacks %s: %v", c.method, c.path, code, codes)
			}
		}
		for _, code := range strings.Fields(c.lacks) {
			if slices.Contains(codes, code) {
				t.Errorf("%s %s has %s", c.method, c.path, code)
			}
		}
	}
	for component, code := range map[string]string{"UsersInput": "error.password.common", "OrdersInput": "error.value.too.long", "Batch": "error.batch.condition"} {
		if codes, _ := d.Components["schemas"][component].(map[string]any)["x-codes"].([]any); !slices.Contains(codes, any(code)) {
			t.Errorf("%s lacks %s: %v", component, code, codes)
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
