package schema

import (
	"errors"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/schema/validation"
)

// newCompiler returns a compiler that reads no files by itself.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	c.Formats = validation.Formats
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, errors.New("a schema can refer to files of its folder and of common/ only, not to " + url)
	}
	return c
}

func addResource(c *jsonschema.Compiler, url string, content map[string]any) error {
	return c.AddResource(url, strings.NewReader(string(document.Append(nil, content))))
}

// forValidation returns a schema that validates documents as they are stored:
// references as ids, contentEncoding as a format, which the library would only note, and
// without uniqueItems, which the normaliser checks in one pass, while the library compares
// all pairs of items.
func forValidation(value any) any {
	schema, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if ref, ok := schema["x-ref"]; ok && !asObject(ref) {
		return map[string]any{"type": "string", "x-ref": ref}
	}
	prepared := make(map[string]any, len(schema))
	for keyword, member := range schema {
		switch keyword {
		case "uniqueItems", "$id", "readOnly", "writeOnly", "contentEncoding":
			continue
		}
		prepared[keyword] = Subschemas(keyword, member, forValidation)
	}
	if schema["contentEncoding"] == validation.Base64Format {
		all, _ := prepared["allOf"].([]any)
		prepared["allOf"] = append(all, map[string]any{"format": validation.Base64Format})
	}
	return prepared
}
