package dialect

import (
	"strings"

	"marquee/engine/document"
)

// Walk calls visit for a schema and each schema within it, with their pointers.
func Walk(at string, value any, visit func(at string, schema map[string]any)) {
	schema, ok := value.(map[string]any)
	if !ok {
		return
	}
	visit(at, schema)
	for keyword, member := range schema {
		Applied(keyword, member, func(below string, inner any) { Walk(at+below, inner, visit) })
	}
}

// At returns the schema at a pointer, or nil.
func At(content map[string]any, pointer string) any {
	var schema any = content
	for rest := pointer; rest != ""; {
		var keyword, name string
		keyword, rest = CutToken(rest)
		members, _ := schema.(map[string]any)
		switch FormOf(keyword) {
		case OneSchema:
			schema = members[keyword]
		case SchemaList, SchemaNames:
			name, rest = CutToken(rest)
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

// CutToken splits off the first token of a JSON Pointer.
func CutToken(pointer string) (token, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		pointer, rest = pointer[:i], pointer[i:]
	}
	return document.UnescapeToken(pointer), rest
}
