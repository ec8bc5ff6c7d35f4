package schema

import (
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
)

// The keywords that hold schemas: one, a list, or one for each name. Nothing
// else in a schema file is a schema, whatever its members are called.
var (
	oneSchema = []string{"items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems",
		"propertyNames", "if", "then", "else", "not", "contentSchema"}
	schemaList  = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	schemaNames = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// walk calls visit for a schema and each schema within it, with their places.
func walk(at string, value any, visit func(at string, schema map[string]any)) {
	schema, ok := value.(map[string]any)
	if !ok {
		return
	}
	visit(at, schema)
	for keyword, member := range schema {
		place := at + "/" + document.EscapeToken(keyword)
		switch {
		case slices.Contains(oneSchema, keyword):
			walk(place, member, visit)
		case slices.Contains(schemaList, keyword):
			items, _ := member.([]any)
			for i, item := range items {
				walk(place+"/"+strconv.Itoa(i), item, visit)
			}
		case slices.Contains(schemaNames, keyword):
			members, _ := member.(map[string]any)
			for name, inner := range members {
				walk(place+"/"+document.EscapeToken(name), inner, visit)
			}
		}
	}
}

// walkFile calls visit for each schema of a file, the conditions of its rules
// among them.
func walkFile(f *file, visit func(at string, schema map[string]any)) {
	walk("", f.content, visit)
	if rule, ok := f.content["x-frozen"].(map[string]any); ok {
		walk("/x-frozen/when", rule["when"], visit)
	}
	rules, _ := f.content["x-warnings"].([]any)
	for i := range rules {
		if rule, ok := rules[i].(map[string]any); ok {
			walk("/x-warnings/"+strconv.Itoa(i)+"/when", rule["when"], visit)
		}
	}
}

// schemaAt finds the schema at a pointer; nil when there is none.
func schemaAt(content map[string]any, pointer string) any {
	var schema any = content
	for rest := pointer; rest != ""; {
		var keyword, name string
		keyword, rest = cutToken(rest)
		members, _ := schema.(map[string]any)
		switch {
		case slices.Contains(oneSchema, keyword):
			schema = members[keyword]
		case slices.Contains(schemaList, keyword), slices.Contains(schemaNames, keyword):
			name, rest = cutToken(rest)
			schema = lookup(members[keyword], "/"+document.EscapeToken(name))
		default:
			return nil
		}
	}
	switch schema.(type) {
	case map[string]any, bool:
		return schema
	}
	return nil
}

// cutToken takes the first token of a JSON Pointer.
func cutToken(pointer string) (token, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		pointer, rest = pointer[:i], pointer[i:]
	}
	return strings.ReplaceAll(strings.ReplaceAll(pointer, "~1", "/"), "~0", "~"), rest
}

// notUnderstood are keywords by which a schema could be reached other than by
// its file and place, or that later drafts replaced.
var notUnderstood = map[string]string{
	"$anchor":          "refer to a schema by its place, #/$defs/…",
	"$dynamicAnchor":   "refer to a schema by its place, #/$defs/…",
	"$dynamicRef":      "use $ref",
	"$recursiveRef":    "use $ref",
	"$recursiveAnchor": "leave it out",
	"$vocabulary":      "leave it out",
	"dependencies":     "use dependentRequired or dependentSchemas",
}

// checkPlaces checks that each $ref leads to a schema of the load.
func (l *loader) checkPlaces() {
	for _, f := range l.inOrder() {
		walkFile(f, func(at string, schema map[string]any) {
			for keyword, cure := range notUnderstood {
				if _, ok := schema[keyword]; ok {
					l.problem(f, at+"/"+keyword, "this keyword is not understood", cure)
				}
			}
			if _, named := schema["$id"]; named && at != "" {
				l.problem(f, at+"/$id", "a schema is named by its file and place alone", "leave it out")
			}
			if ref, ok := schema["$ref"].(string); ok {
				if _, _, text := l.resolve(f, ref); text != "" {
					l.problem(f, at+"/$ref", text, refCure)
				}
			}
		})
	}
}

// asObject reports whether an x-ref speaks of objects alone.
func asObject(ref any) bool {
	members, _ := ref.(map[string]any)
	return members["form"] == "object"
}

// forValidation is a schema as documents are validated: a reference is stored
// as an id, and uniqueItems is checked by the normaliser, which needs one pass
// where the library compares each item with each other.
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
		switch {
		case keyword == "uniqueItems", keyword == "$id", keyword == "readOnly", keyword == "writeOnly":
		case slices.Contains(oneSchema, keyword):
			prepared[keyword] = forValidation(member)
		case slices.Contains(schemaList, keyword):
			items, _ := member.([]any)
			list := make([]any, len(items))
			for i, item := range items {
				list[i] = forValidation(item)
			}
			prepared[keyword] = list
		case slices.Contains(schemaNames, keyword):
			members, _ := member.(map[string]any)
			named := make(map[string]any, len(members))
			for name, inner := range members {
				named[name] = forValidation(inner)
			}
			prepared[keyword] = named
		default:
			prepared[keyword] = member
		}
	}
	return prepared
}
