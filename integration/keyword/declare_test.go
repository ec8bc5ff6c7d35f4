// Package keyword_test declares keywords as an application would. They hold for the whole process,
// so that no other test is in this package.
package keyword_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
	"marquee/integration/marqueetest"
)

// first is a keyword of values: a new object has one of its texts, if any.
var (
	notFirst = message.Refusal("error.test.first", "{{field}} of a new object must be {{first}}.")
	first    = keyword.Keyword{
		Name: "x-first",
		Meta: `{"type": "array", "items": {"type": "string"}, "minItems": 1}`,
		On:   keyword.Property, Cure: "put it on a top-level property",
		Conflict: func(shape *document.Shape) (text, cure string) {
			if !shape.Is("string") {
				return "only a string has first values", "allow strings"
			}
			return "", ""
		},
		Check: func(p keyword.Guarded, c *keyword.Change) []message.Message {
			values := p.Shape.Keywords["x-first"].([]any)
			value, set := c.After[p.Name]
			if c.Before != nil || !set || slices.Contains(values, value) {
				return nil
			}
			return []message.Message{notFirst.With(message.Params{"field": "/" + p.Name, "first": strings.Join(keyword.Strings(values), " or ")})}
		},
		Faults: []*message.Definition{notFirst},
		Note: func(shape *document.Shape) []string {
			return []string{"at first " + strings.Join(keyword.Strings(shape.Keywords["x-first"]), " or ")}
		},
		Section: `<h2 id="first">First values</h2>{{range .}}<p>{{.Path}}</p>{{end}}`,
	}
)

// together is a keyword of types: while an object meets a condition, of two properties
// both are set or none.
var together = keyword.Keyword{
	Name: "x-together",
	Meta: `{"type": "array", "items": {
		"type": "object", "required": ["code", "text", "when", "properties"], "additionalProperties": false,
		"properties": {"code": {"type": "string"}, "text": {"type": "string"}, "when": {"$ref": "#/$defs/condition"}, "properties": {"$ref": "#/$defs/pair"}}
	}}`,
	Definitions: `{"pair": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}}`,
	Conditional: true,
	Rule: func(s keyword.Source) *keyword.Rule {
		names, when := keyword.Strings(s.Members["properties"]), s.Condition("/when")
		code, _ := s.Members["code"].(string)
		text, _ := s.Members["text"].(string)
		apart := s.Declare(message.TypeValidation, code, text)
		return &keyword.Rule{
			Message: apart,
			Check: func(ctx context.Context, c *keyword.Change) ([]message.Message, error) {
				_, one := c.After[names[0]]
				_, other := c.After[names[1]]
				if is, err := when(ctx, c.After, c.State); !is || one == other {
					return nil, err
				}
				return []message.Message{apart.With(message.Params{"field": "/" + names[1]})}, nil
			},
			Lint: func(t *keyword.Type, problem func(below, text, cure string)) {
				for _, name := range names {
					if t.Shape.Properties[name] == nil {
						problem("/properties", "there is no property "+name, "name a property of the schema")
					}
				}
			},
			Show: func() keyword.Entry { return keyword.Entry{Code: code, Text: text} },
		}
	},
	Section: `<h2 id="together">Together</h2>{{range .}}<p>{{.Code}}: {{.Text}}</p>{{end}}`,
}

func init() {
	keyword.Declare(first)
	keyword.Declare(together)
}

const (
	head  = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",` + "\n"
	tasks = head + `"x-resource": {"path": "tasks"}, "properties": {
		"state": {"type": "string", "x-first": ["NEW", "WAITING"]},
		"from": {"type": "integer"}, "to": {"type": "integer"}},
		"x-together": [{"code": "error.test.together", "text": "Both or none.", "when": {"properties": {"objectState": {"const": "ACTIVE"}}}, "properties": ["from", "to"]}]}`
)

// TestDeclaredKeywordIsLinted declares two keywords and nothing else: the loader refuses
// them wherever they are wrong.
func TestDeclaredKeywordIsLinted(t *testing.T) {
	for name, c := range map[string]struct{ schema, problem string }{
		"value":      {`"properties": {"a": {"type": "string", "x-first": []}}}`, `a.json#/properties/a/x-first: has too few items: the minimum is 1`},
		"misspelt":   {`"properties": {"a": {"type": "string", "x-frist": ["A"]}}}`, `a.json#/properties/a/x-frist: x-frist is not a keyword and would have no effect (write x-first), line 2`},
		"position":   {`"properties": {"a": {"type": "object", "properties": {"b": {"type": "string", "x-first": ["A"]}}}}}`, `x-first is not supported on a nested property (put it on a top-level property), line 2`},
		"tested":     {`"properties": {"a": {"type": "string", "not": {"x-first": ["A"]}}}}`, `x-first has no effect under not`},
		"condition":  {`"properties": {"a": {}, "b": {}}, "x-together": [{"code": "error.a", "text": "t", "when": {"readOnly": true}, "properties": ["a", "b"]}]}`, `#/x-together/0/when/readOnly: annotations have no effect in a condition`},
		"conflict":   {`"properties": {"a": {"type": "integer", "x-first": ["A"]}}}`, `a.json#/properties/a/x-first: only a string has first values (allow strings), line 2`},
		"rule":       {`"properties": {}, "x-together": [{"code": "error.a"}]}`, `a.json#/x-together/0/text: is required`},
		"type":       {`"properties": {"a": {}}, "x-together": [{"code": "error.a", "text": "t", "when": {}, "properties": ["a", "b"]}]}`, `a.json#/x-together/0/properties: there is no property b (name a property of the schema), line 2`},
		"definition": {`"properties": {}, "x-together": [{"code": "error.a", "text": "t", "when": {}, "properties": ["a"]}]}`, `a.json#/x-together/0/properties: has too few items: the minimum is 2`},
	} {
		file := head + `"x-resource": {"path": "a"}, ` + c.schema
		_, err := schema.Load(schema.Source{FS: fstest.MapFS{"a.json": {Data: []byte(file)}}})
		if err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %s", name, err, c.problem)
		}
	}
}

// TestDeclaredKeywordIsServed serves a type with the keywords.
func TestDeclaredKeywordIsServed(t *testing.T) {
	s := marqueetest.Start(t, fstest.MapFS{"tasks.json": {Data: []byte(tasks)}})
	put := func(id, body string, status int, codes ...string) {
		t.Helper()
		answer, _ := json.Marshal(s.Do("PUT", "/api/v1/tasks/"+id+"?context=main", body, status))
		for _, code := range codes {
			if !strings.Contains(string(answer), code) {
				t.Errorf("%s: %s, want %s", body, answer, code)
			}
		}
	}
	put("a", `{"state": "DONE", "from": 1}`, 422, "error.test.first", "/state of a new object must be NEW or WAITING.", "error.test.together")
	put("a", `{"state": "NEW", "from": 1, "objectState": "INACTIVE"}`, 201)
	put("a", `{"state": "DONE"}`, 200)
	put("a", `{"objectState": "ACTIVE"}`, 422, "error.test.together")
	put("a", `{"objectState": "ACTIVE", "to": 2}`, 200)

	for path, texts := range map[string][]string{
		"/api/openapi.json": {`"x-first":["NEW","WAITING"]`, "error.test.first", "error.test.together"},
		"/docs/types/tasks": {"<em>at first NEW or WAITING</em>", `<h2 id="first">First values</h2><p>state</p>`,
			`<h2 id="together">Together</h2><p>error.test.together: Both or none.</p>`},
		"/docs/messages/error.test.together": {"Both or none."},
	} {
		response, err := s.Client.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, response.StatusCode, err)
		}
		for _, text := range texts {
			if !strings.Contains(strings.ReplaceAll(string(page), `": `, `":`), text) {
				t.Errorf("%s has no %s", path, text)
			}
		}
	}
}
