package schemathesis

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/integration/marqueetest"
)

// folder makes schemas of types that refer to each other.
type folder struct{ *rand.Rand }

// types is the number of types in a folder.
const types = 4

func typeName(i int) string { return fmt.Sprintf("things%d", i) }

// complete reports whether the objects of a type must have some of the properties. Only
// those of others are easily made.
func complete(i int) bool { return i%4 == 3 }

func (f folder) files() fstest.MapFS {
	files := fstest.MapFS{}
	for i := range types {
		schema := f.object(3)
		if !complete(i) {
			delete(schema, "required")
		}
		schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		schema["title"] = fmt.Sprintf("Thing %d", i)
		schema["x-resource"] = map[string]any{"path": typeName(i)}
		files[typeName(i)+".json"] = &fstest.MapFile{Data: []byte(jsonText(schema))}
	}
	return files
}

// object is a schema of objects, of at most the given depth.
func (f folder) object(depth int) map[string]any {
	properties := map[string]any{}
	var required []any
	for i := range 2 + f.IntN(5) {
		name := fmt.Sprintf("%c%d", 'a'+f.IntN(3), i)
		properties[name] = f.value(depth - 1)
		if f.IntN(4) == 0 {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if required != nil {
		schema["required"] = required
	}
	return schema
}

// value is a schema of a property.
func (f folder) value(depth int) map[string]any {
	schema := f.plain(depth)
	switch f.IntN(9) {
	case 0:
		schema["readOnly"] = true
	case 1:
		if kind, is := schema["type"].(string); is && schema["enum"] == nil {
			schema["type"] = []any{kind, "null"}
		}
	case 2:
		schema["description"] = "A value."
	}
	return schema
}

// plain is a schema of JSON Schema's own keywords, or of a reference.
func (f folder) plain(depth int) map[string]any {
	if depth > 0 {
		switch f.IntN(8) {
		case 0:
			return f.object(depth)
		case 1:
			return map[string]any{"type": "array", "items": f.plain(depth - 1), "maxItems": 1 + f.IntN(5)}
		case 2:
			return map[string]any{"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string", "maxLength": 10}}}
		case 3:
			return map[string]any{"type": "object", "additionalProperties": f.plain(depth - 1), "maxProperties": 3}
		}
	}
	switch f.IntN(8) {
	case 0:
		return map[string]any{"x-ref": typeName(f.IntN(types))}
	case 1:
		return map[string]any{"type": "boolean", "default": f.IntN(2) == 0}
	case 2:
		return map[string]any{"type": "integer", "minimum": -f.IntN(100), "maximum": f.IntN(1000)}
	case 3:
		return map[string]any{"type": "number", "exclusiveMinimum": 0}
	case 4:
		return map[string]any{"type": "string", "enum": []any{"ONE", "TWO", "THREE"}}
	case 5:
		return map[string]any{"type": "string", "format": []string{"date-time", "date", "email", "uri"}[f.IntN(4)]}
	case 6:
		return map[string]any{"type": "string", "pattern": "^[a-z]{1,8}$"}
	}
	return map[string]any{"type": "string", "maxLength": 1 + f.IntN(200)}
}

// TestRandomFolder serves types of random schemas, without an application.
func TestRandomFolder(t *testing.T) {
	t.Parallel()
	needTime(t)
	tools := suite.Python(t, "python")
	eachStore(t, func(t *testing.T, options marquee.Options) {
		seed := setting(t, "MARQUEE_SEED", 1)
		options.Schemas = folder{rand.New(rand.NewPCG(seed, 0))}.files()
		f := begin(t, tools, options)
		f.Do("POST", "/api/v1/teams/"+example+"?context="+marqueetest.Network, `{"name": "Example"}`, 201)
		for i := range types {
			if !complete(i) {
				f.Do("POST", "/api/v1/"+typeName(i)+"/"+example+"?context="+marqueetest.Network, `{}`, 201)
			}
		}
		f.run(t, seed)
	})
}
