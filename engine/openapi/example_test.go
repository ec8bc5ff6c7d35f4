package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/openapi"
	"marquee/engine/schema"
	"marquee/resources"
)

// TestExamples checks that each response with JSON has an example, which its schema
// accepts.
func TestExamples(t *testing.T) {
	hostile, err := resources.LoadSchemas(schema.Source{Name: "hostile", FS: fstest.MapFS{"gadgets.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Gadget", "x-resource": {"path": "gadgets"}, "type": "object",
		"$defs": {"part": {"type": "object", "properties": {"parts": {"type": "array", "items": {"$ref": "#/$defs/part"}}}}},
		"properties": {
			"plate": {"type": "string", "pattern": "^[A-Z]{3}$"}, "long": {"type": "string", "minLength": 40}, "short": {"type": "string", "maxLength": 1},
			"even": {"type": "integer", "multipleOf": 2, "minimum": 11}, "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
			"either": {"oneOf": [{"type": "string"}, {"type": "integer"}]}, "deep": {"$ref": "#/$defs/part"},
			"pair": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}, "none": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
			"closed": {"type": "object", "required": ["code"], "additionalProperties": false, "properties": {"code": {"type": "string", "pattern": "^x"}}},
			"number": {"type": "string", "x-sequence": {"start": 1000, "format": "INV-{n}"}},
			"both": {"allOf": [{"type": "integer", "minimum": 3}, {"type": "integer", "maximum": 5}]}}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, types := range map[string]*schema.Registry{"advertising": load(t), "hostile": hostile} {
		app := resources.New().Application()
		text, err := app.Document(types, openapi.Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkExamples(t, name, text)
		if name == "hostile" && !strings.Contains(string(text), `"number":"INV-1000"`) {
			t.Error("the first number is no example")
		}
	}
}

// checkExamples checks those of a document.
func checkExamples(t *testing.T, name string, text []byte) {
	t.Helper()
	var whole struct {
		Components struct {
			Responses, Examples map[string]json.RawMessage
			Schemas             map[string]struct{ Examples []any }
		}
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	if err := compiler.AddResource("document.json", strings.NewReader(string(text))); err != nil {
		t.Fatal(err)
	}
	checked := 0
	check := func(at, pointer string, response json.RawMessage) {
		var r struct {
			Content map[string]struct {
				Example any
				Schema  struct {
					Ref string `json:"$ref"`
				}
				Examples map[string]struct {
					Ref string `json:"$ref"`
				}
			}
		}
		if err := json.Unmarshal(response, &r); err != nil {
			t.Fatal(at, err)
		}
		for mediaType, content := range r.Content {
			if !strings.HasSuffix(mediaType, "json") {
				continue
			}
			examples := []any{}
			if content.Example != nil {
				examples = append(examples, content.Example)
			}
			examples = append(examples, whole.Components.Schemas[content.Schema.Ref[strings.LastIndex(content.Schema.Ref, "/")+1:]].Examples...)
			for _, each := range content.Examples {
				var shared struct{ Value any }
				if err := json.Unmarshal(whole.Components.Examples[each.Ref[strings.LastIndex(each.Ref, "/")+1:]], &shared); err != nil {
					t.Fatal(at, err)
				}
				examples = append(examples, shared.Value)
			}
			compiled, err := compiler.Compile("document.json#" + pointer + "/content/" + strings.ReplaceAll(mediaType, "/", "~1") + "/schema")
			if err != nil {
				t.Fatal(at, err)
			}
			if len(examples) == 0 {
				t.Errorf("%s: %s has no example", name, at)
			}
			for _, example := range examples {
				checked++
				if err := compiled.Validate(example); err != nil {
					t.Errorf("%s: %s: %v\n%v", name, at, err, example)
				}
			}
		}
	}
	for shared, response := range whole.Components.Responses {
		check(shared, "/components/responses/"+shared, response)
	}
	for path, item := range whole.Paths {
		for method, raw := range item {
			var o struct{ Responses map[string]json.RawMessage }
			if method == "parameters" || json.Unmarshal(raw, &o) != nil {
				continue
			}
			for status, response := range o.Responses {
				pointer := "/paths/" + strings.ReplaceAll(path, "/", "~1") + "/" + method + "/responses/" + status
				check(method+" "+path+" "+status, pointer, response)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%s: only %d examples", name, checked)
	}
}
