package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/openapi"
	"marquee/engine/schema"
	"marquee/resources"
)

func load(tb testing.TB) *schema.Registry {
	tb.Helper()
	types, err := resources.LoadSchemas()
	if err != nil {
		tb.Fatal(err)
	}
	return types
}

// TestBuildIsReproducible checks that the document depends on the schemas and the
// fragments of the application alone.
func TestBuildIsReproducible(t *testing.T) {
	app := resources.New().Application()
	first, err := app.Document(load(t), openapi.Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if other, err := app.Document(load(t), openapi.Options{All: true}); err != nil || !bytes.Equal(first, other) {
			t.Fatal("two documents of the same schemas differ", err)
		}
	}
}

// TestReferencesLead checks that each reference in the document leads to something,
// and that no operation has the name of another one.
func TestReferencesLead(t *testing.T) {
	text, err := openapi.Build(load(t), openapi.Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	components := whole["components"].(map[string]any)
	seen, references := map[string]bool{}, 0
	var visit func(value any)
	visit = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				visit(item)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				references++
				parts := strings.Split(ref, "/")
				kind, _ := components[parts[2]].(map[string]any)
				if len(parts) != 4 || kind[parts[3]] == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			if id, ok := v["operationId"].(string); ok {
				if seen[id] {
					t.Errorf("there are two operations %s", id)
				}
				seen[id] = true
			}
			for _, member := range v {
				visit(member)
			}
		}
	}
	visit(whole)
	if references < 1000 || len(seen) < 100 {
		t.Errorf("%d references and %d operations: the walk does not see them", references, len(seen))
	}
}

// TestTitlesThatAreTaken checks that types whose titles are names of the document itself
// get names of their own, and change nothing about the others.
func TestTitlesThatAreTaken(t *testing.T) {
	files := fstest.MapFS{}
	for i, title := range []string{"Message", "Health", "Batch", "Order page", "Order input", "Ids", "Object id", "_", "Order operation", "History", "Context"} {
		files[fmt.Sprintf("t%d.json", i)] = &fstest.MapFile{Data: []byte(fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema",
			"title": %q, "x-resource": {"path": "t%d"}, "type": "object", "properties": {"own%d": {"type": "string"}}}`, title, i, i))}
	}
	types, err := resources.LoadSchemas(schema.Source{Name: "titles", FS: files})
	if err != nil {
		t.Fatal(err)
	}
	text, err := openapi.Build(types, openapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	type document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas map[string]struct {
				Title      string
				Properties map[string]any
				AllOf      []struct{ Properties map[string]any }
			}
		}
	}
	var plain, whole document
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	text, err = openapi.Build(load(t), openapi.Options{All: true})
	if err != nil || json.Unmarshal(text, &plain) != nil {
		t.Fatal(err)
	}
	for name, before := range plain.Components.Schemas {
		if after := whole.Components.Schemas[name]; len(after.Properties) != len(before.Properties) {
			t.Errorf("%s has the properties %v", name, after.Properties)
		}
	}
	owns, ids := 0, map[string]bool{}
	for name, s := range whole.Components.Schemas {
		if s.Title != "" && s.Title != name {
			t.Errorf("the title of %s is %s", name, s.Title)
		}
		properties := s.Properties
		for _, part := range s.AllOf {
			properties = part.Properties
		}
		for property := range properties {
			if strings.HasPrefix(property, "own") {
				owns++
			}
		}
	}
	if owns != 22 {
		t.Errorf("the types are described %d times, and not once for each direction", owns)
	}
	for _, item := range whole.Paths {
		for method, operation := range item {
			var named struct{ OperationID string }
			if method == "parameters" || json.Unmarshal(operation, &named) != nil {
				continue
			}
			if ids[named.OperationID] {
				t.Errorf("there are two operations %s", named.OperationID)
			}
			ids[named.OperationID] = true
		}
	}
}

// TestInputs checks what the schemas for requests say of references, of properties that
// reading completes, and of those that the application supplies.
func TestInputs(t *testing.T) {
	types, err := resources.LoadSchemas(schema.Source{Name: "inline", FS: fstest.MapFS{"gadgets.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Gadget", "x-resource": {"path": "gadgets"}, "type": "object", "required": ["kind", "order"],
		"properties": {"order": {"type": "string", "x-ref": "orders"}, "kind": {"type": "string", "default": "SMALL"}}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	supplying := openapi.Fragment(`{"x-supplied": {"creatives": ["layout", "verifiedSafe"]}}`)
	text, err := openapi.Build(types, openapi.Options{}, supplying)
	if err != nil {
		t.Fatal(err)
	}
	var whole struct {
		Components struct {
			Schemas map[string]struct {
				Required   []string `json:"x-required-on-create"`
				Properties map[string]struct {
					Ref      string `json:"$ref"`
					Default  any
					OnCreate any `json:"x-default-on-create"`
				}
			}
		}
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	creative, gadget := whole.Components.Schemas["CreativesInput"], whole.Components.Schemas["GadgetsInput"]
	if _, written := creative.Properties["constraintsToText"]; !written || slices.Contains(creative.Required, "layout") || !slices.Contains(creative.Required, "name") {
		t.Errorf("a creative is written as %+v", creative)
	}
	if _, written := creative.Properties["renderedHtml"]; written {
		t.Error("a property that is read-only is written")
	}
	if kind := gadget.Properties["kind"]; kind.Default != nil || kind.OnCreate != "SMALL" {
		t.Errorf("a kind is written as %+v", kind)
	}
	if gadget.Properties["order"].Ref != "#/components/schemas/ReferenceInput" || !slices.Equal(gadget.Required, []string{"order"}) {
		t.Errorf("a gadget is written as %+v", gadget)
	}
}

// TestFaultyFragments checks that a fragment which cannot be part of a document is
// refused.
func TestFaultyFragments(t *testing.T) {
	for name, fragment := range map[string]string{
		"no JSON":             `{`,
		"an unknown class":    `{"paths": {"/a": {"get": {"x-refusals": "sometimes"}}}}`,
		"an unknown code":     `{"paths": {"/a": {"get": {"x-refusals": "plain", "x-codes": ["error.unheard.of"]}}}}`,
		"no object of a path": `{"paths": []}`,
	} {
		if _, err := openapi.Build(load(t), openapi.Options{}, openapi.Fragment(fragment)); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	types := load(b)
	for b.Loop() {
		if _, err := openapi.Build(types, openapi.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
