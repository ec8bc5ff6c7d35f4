package schema

import (
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
)

// withoutProperties returns a schema as it is shown to those for whom some properties do
// not exist: without their declarations, and without everything that mentions them. Paths
// lead from object to object through properties.
func withoutProperties(source map[string]any, paths [][]string) map[string]any {
	rest, _ := document.Clone(source).(map[string]any)
	for _, path := range paths {
		last := path[len(path)-1]
		schema := rest
		for i, name := range path {
			if schema == nil {
				break
			}
			properties, _ := schema["properties"].(map[string]any)
			if i == len(path)-1 {
				delete(properties, last)
			}
			withoutName(schema, last)
			schema, _ = properties[name].(map[string]any)
		}
	}
	return rest
}

// descriptive are keywords that say nothing about which values are valid.
var descriptive = []string{"$schema", "$id", "$ref", "$comment", "title", "description", "type", "$defs", "properties", "patternProperties", "additionalProperties"}

// withoutName removes from the schema of an object, in place, what mentions a property.
func withoutName(schema map[string]any, name string) {
	mentioned := func(part any) bool { return mentions(part, name) }
	if mentioned(schema["if"]) || mentioned(schema["then"]) || mentioned(schema["else"]) {
		delete(schema, "if")
		delete(schema, "then")
		delete(schema, "else")
	}
	for key, value := range schema {
		if slices.Contains(descriptive, key) || !mentioned(value) {
			continue
		}
		switch v := value.(type) {
		case []any:
			rest := slices.DeleteFunc(v, mentioned)
			if schema[key] = rest; len(rest) == 0 || key == "anyOf" || key == "oneOf" {
				delete(schema, key)
			}
		case map[string]any:
			switch key {
			case "x-resource":
				withoutEntries(v, mentioned)
			case "dependentRequired", "dependentSchemas":
				for other, needed := range v {
					if other == name || mentioned(needed) {
						delete(v, other)
					}
				}
			default:
				if except, ok := v["except"].([]any); ok {
					v["except"] = slices.DeleteFunc(except, mentioned)
				}
				if mentioned(v) {
					delete(schema, key)
				}
			}
		default:
			delete(schema, key)
		}
	}
	for _, key := range []string{"properties", "$defs"} {
		named, _ := schema[key].(map[string]any)
		for _, member := range named {
			withoutRules(member, mentioned)
		}
	}
}

// withoutRules removes from the schema of a member, in place, the rules that mention a property.
func withoutRules(member any, mentioned func(any) bool) {
	schema, _ := member.(map[string]any)
	for key, value := range schema {
		if k := keyword.Named(key); k != nil && k.Rule != nil && mentioned(value) {
			delete(schema, key)
		}
	}
}

// withoutEntries removes from x-resource the entries that mention a property.
func withoutEntries(resource map[string]any, mentioned func(any) bool) {
	for _, key := range []string{"search", "sort", "columns", "index", "unique"} {
		if entries, ok := resource[key].([]any); ok {
			resource[key] = slices.DeleteFunc(entries, mentioned)
		}
	}
	if forms, ok := resource["uniqueForm"].(map[string]any); ok {
		for property := range forms {
			if mentioned(property) {
				delete(forms, property)
			}
		}
	}
}
