package validation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

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
		return io.NopCloser(bytes.NewReader(document.Append(nil, unannotated(content)))), nil
	}
	return c
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
		return io.NopCloser(bytes.NewReader(document.Append(nil, map[string]any{stubOf: url}))), nil
	}
	stubs := jsonschema.NewCompiler()
	stubs.AssertFormat = true
	stubs.Formats[format] = func(value any) bool {
		stub, _ := value.(map[string]any)
		url, is := stub[stubOf].(string)
		if !is {
			return true
		}
		delete(stub, stubOf)
		content, err := load(url)
		if err != nil {
			return false
		}
		d := json.NewDecoder(content)
		d.UseNumber()
		return d.Decode(&stub) == nil // into the map that the library has
	}
	stubs.LoadURL = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(`{"format": "` + format + `"}`)), nil
	}
	c.RegisterExtension(format, stubs.MustCompile("marquee:///stub"), noKeywords{})
	return c
}

// noKeywords is an extension without keywords.
type noKeywords struct{}

// Compile compiles nothing.
func (noKeywords) Compile(jsonschema.CompilerContext, map[string]any) (jsonschema.ExtSchema, error) {
	return nil, nil
}

// unannotated returns a schema without its annotations, which the library would read and check,
// and without $schema, for which it would look up the vocabularies of each schema.
func unannotated(value any) any {
	schema, ok := value.(map[string]any)
	if !ok {
		return value
	}
	kept := make(map[string]any, len(schema))
	for keyword, member := range schema {
		switch keyword {
		case "$schema", "title", "description", "$comment", "default", "examples", "deprecated":
			continue
		}
		kept[keyword] = dialect.Subschemas(keyword, member, unannotated)
	}
	return kept
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
