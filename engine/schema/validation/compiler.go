package validation

import (
	"bytes"
	"errors"
	"io"

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

// unannotated returns a schema without its annotations, which the library would read and check.
func unannotated(value any) any {
	schema, ok := value.(map[string]any)
	if !ok {
		return value
	}
	kept := make(map[string]any, len(schema))
	for keyword, member := range schema {
		switch keyword {
		case "title", "description", "$comment", "default", "examples", "deprecated":
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
