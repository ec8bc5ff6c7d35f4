package schema

import (
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
)

// walkFile calls visit for each schema of a file, including the conditions of its
// rules.
func walkFile(f *file, visit func(at string, schema map[string]any)) {
	walk("", f.content, visit)
	for _, when := range conditions(f) {
		walk(when, document.Lookup(f.content, when), visit)
	}
}

// conditions returns the pointers to the schemas in rules.
func conditions(f *file) (list []string) {
	for _, k := range keyword.OfTypes() {
		if k.Conditional {
			k.Each(f.content, func(at string, _ map[string]any) { list = append(list, at+"/when") })
		}
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
			schema = document.Lookup(members[keyword], "/"+document.EscapeToken(name))
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

// asObject reports whether an x-ref applies to objects only.
func asObject(ref any) bool {
	members, _ := ref.(map[string]any)
	return members["form"] == "object"
}
