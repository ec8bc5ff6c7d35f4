package validation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/schema/dialect"
)

// NewCompiler returns a compiler of schemas that have URLs. It reads no files by itself.
func NewCompiler(known Schemas) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	c.Formats = Formats
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		content, there := known[url]
		if !there {
			return nil, errors.New("a schema can refer to files of its folder and of common/ only, not to " + url)
		}
		return jsonReader(unannotated(content))
	}
	return c
}

func jsonReader(value any) (io.ReadCloser, error) {
	text, err := json.Marshal(value)
	return io.NopCloser(bytes.NewReader(text)), err
}

// NewJudgedCompiler is NewCompiler for schemas without $id that the meta-schema has accepted. The
// library has no option that omits validation against the meta-schema of the draft, which takes
// most of the time. It validates against those of extensions afterwards, and before it looks for
// subschemas: so it gets a stub, which the format of an extension replaces with the schema.
func NewJudgedCompiler(known Schemas) *jsonschema.Compiler {
	const stubOf, format = "x-stub-of", "stub"
	c := NewCompiler(known)
	load := c.LoadURL
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		if _, there := known[url]; !there {
			return load(url)
		}
		return jsonReader(map[string]any{stubOf: url})
	}
	stubs := jsonschema.NewCompiler()
	stubs.AssertFormat = true
	stubs.Formats[format] = func(value any) bool {
		stub, _ := value.(map[string]any)
		if url, is := stub[stubOf].(string); is {
			delete(stub, stubOf)
			schema, _ := unannotated(known[url]).(map[string]any)
			maps.Copy(stub, schema)
		}
		return true
	}
	stubs.LoadURL = func(string) (io.ReadCloser, error) { return jsonReader(map[string]any{"format": format}) }
	c.RegisterExtension(format, stubs.MustCompile("marquee:///stub"), noKeywords{})
	return c
}

// noKeywords is an extension without keywords.
type noKeywords struct{}

// Compile compiles nothing.
func (noKeywords) Compile(jsonschema.CompilerContext, map[string]any) (jsonschema.ExtSchema, error) {
	return nil, nil
}

// unannotated returns a schema as package json decodes it for the library, without its
// annotations, which the library would read and check.
func unannotated(value any) any {
	schema, ok := value.(map[string]any)
	if !ok {
		return value
	}
	kept := make(map[string]any, len(schema))
	for keyword, member := range schema {
		switch {
		case annotations[keyword]:
		case dialect.FormOf(keyword) == dialect.NoSchema:
			kept[keyword] = decoded(member)
		default:
			kept[keyword] = dialect.Subschemas(keyword, member, unannotated)
		}
	}
	return kept
}

// annotations are the keywords that unannotated leaves out.
var annotations = map[string]bool{"$schema": true, "title": true, "description": true, "$comment": true, "default": true, "examples": true, "deprecated": true}

// decoded returns a value with its numbers as text.
func decoded(value any) any {
	switch v := value.(type) {
	case int, int64, float64:
		return json.Number(document.Append(nil, v))
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = decoded(item)
		}
		return items
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, member := range v {
			members[name] = decoded(member)
		}
		return members
	}
	return value
}

// Stored returns a schema that validates documents as they are stored:
// references as ids, contentEncoding as a format, which the library would only note, and
// without uniqueItems, which the normaliser checks in one pass, while the library compares
// all pairs of items. A schema that holds no others and stays as it is becomes part of the result.
func Stored(value any) any {
	schema, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if ref, ok := schema["x-ref"]; ok && !asObject(ref) {
		return map[string]any{"type": "string", "x-ref": ref}
	}
	if stays(schema) {
		return schema
	}
	prepared := make(map[string]any, len(schema))
	for keyword, member := range schema {
		if notStored[keyword] {
			continue
		}
		prepared[keyword] = dialect.Subschemas(keyword, member, Stored)
	}
	if schema["contentEncoding"] == Base64Format {
		all, _ := prepared["allOf"].([]any)
		prepared["allOf"] = append(all, map[string]any{"format": Base64Format})
	}
	return prepared
}

// notStored are the keywords that Stored leaves out.
var notStored = map[string]bool{"uniqueItems": true, "$id": true, "readOnly": true, "writeOnly": true, "contentEncoding": true}

// stays reports whether Stored has nothing to change in a schema, and it holds no others.
func stays(schema map[string]any) bool {
	for keyword := range schema {
		if notStored[keyword] || dialect.FormOf(keyword) != dialect.NoSchema {
			return false
		}
	}
	return true
}

// asObject reports whether an x-ref applies to objects only.
func asObject(ref any) bool {
	members, _ := ref.(map[string]any)
	return members["form"] == "object"
}
