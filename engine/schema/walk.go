package schema

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
)

// walkFile calls visit for each schema of a file, including the conditions of its
// rules.
func walkFile(f *file, visit func(at string, schema map[string]any)) {
	walk("", f.content, visit)
	for _, when := range conditions(f) {
		walk(when, lookup(f.content, when), visit)
	}
}

// conditions returns the pointers to the schemas in rules.
func conditions(f *file) []string {
	var list []string
	if _, ok := f.content["x-frozen"].(map[string]any); ok {
		list = append(list, "/x-frozen/when")
	}
	rules, _ := f.content["x-warnings"].([]any)
	for i := range rules {
		list = append(list, "/x-warnings/"+strconv.Itoa(i)+"/when")
	}
	return list
}

// schemaAt returns the schema at a pointer, or nil.
func schemaAt(content map[string]any, pointer string) any {
	var schema any = content
	for rest := pointer; rest != ""; {
		var keyword, name string
		keyword, rest = cutToken(rest)
		members, _ := schema.(map[string]any)
		switch applicators[keyword].form {
		case oneSchema:
			schema = members[keyword]
		case schemaList, schemaNames:
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

// cutToken splits off the first token of a JSON Pointer.
func cutToken(pointer string) (token, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		pointer, rest = pointer[:i], pointer[i:]
	}
	return strings.ReplaceAll(strings.ReplaceAll(pointer, "~1", "/"), "~0", "~"), rest
}

// notUnderstood are keywords that identify schemas other than by file and JSON
// Pointer, or that later drafts replaced, with a cure for each.
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
					l.problem(f, at+"/"+keyword, "this keyword is not supported", cure)
				}
			}
			if _, named := schema["$id"]; named && at != "" {
				l.problem(f, at+"/$id", "a schema is identified by its file and JSON Pointer only", "leave it out")
			}
			if ref, ok := schema["$ref"].(string); ok {
				if _, _, text := l.resolve(f, ref); text != "" && !l.leadsToUnread(f, ref) && !l.reported(f, at+"/$ref") {
					l.problem(f, at+"/$ref", text, refCure)
				}
			}
		})
	}
}

// leadsToUnread reports whether a $ref leads to a file that could not be read.
func (l *loader) leadsToUnread(f *file, ref string) bool {
	base, _, _ := strings.Cut(ref, "#")
	url := baseURL + path.Join(path.Dir(strings.TrimPrefix(f.url, baseURL)), base)
	return slices.ContainsFunc(l.unread, func(other *file) bool { return other.url == url })
}

// asObject reports whether an x-ref applies to objects only.
func asObject(ref any) bool {
	members, _ := ref.(map[string]any)
	return members["form"] == "object"
}

// forValidation returns a schema that validates documents as they are stored:
// references as ids, and without uniqueItems, which the normaliser checks in one
// pass, while the library compares all pairs of items.
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
		case "uniqueItems", "$id", "readOnly", "writeOnly":
			continue
		}
		switch applicators[keyword].form {
		case oneSchema:
			prepared[keyword] = forValidation(member)
		case schemaList:
			items, _ := member.([]any)
			list := make([]any, len(items))
			for i, item := range items {
				list[i] = forValidation(item)
			}
			prepared[keyword] = list
		case schemaNames:
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
