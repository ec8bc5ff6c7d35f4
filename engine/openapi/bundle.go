package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/keyword"
)

// schemaForm is a form in which the schema of a type is served.
type schemaForm string

const (
	// writtenForm is the schema as it is written.
	writtenForm schemaForm = ""
	// plainForm describes what a client may send, with the keywords of JSON Schema
	// alone.
	plainForm schemaForm = "plain"
)

// draft is the draft of JSON Schema of all schemas.
const draft = "https://json-schema.org/draft/2020-12/schema"

// bundle makes the schema of a type a document of its own: the schemas that it refers
// to become members of $defs.
type bundle struct {
	types *schema.Registry
	files map[string]object
	root  string
	// found are the schemas that others refer to, and defs definitions that are in no
	// file.
	found map[use]*bundled
	defs  object
}

// use is a schema in a file as it is used at places of one scope.
type use struct {
	location
	at scope
}

// bundled is a member of $defs. The reference to it is known when all have been found,
// so that it does not depend on the order in which they are.
type bundled struct {
	ref    string
	schema any
}

func newBundle(types *schema.Registry, t *schema.Type) *bundle {
	b := &bundle{types: types, files: types.Shared(), root: typeFile(t), found: map[use]*bundled{}, defs: object{}}
	b.files[b.root] = t.Source
	return b
}

// ref returns the reference, within the document, to what a $ref of a file leads to.
// Translate makes the definition when something in a scope first refers to it.
func (b *bundle) ref(file, ref string, at scope, translate func(file string, definition any) any) *string {
	to := use{target(file, ref), at}
	if to.location == (location{file: b.root}) {
		root := "#"
		return &root
	}
	d := b.found[to]
	if d == nil {
		d = &bundled{}
		b.found[to] = d
		d.schema = translate(to.file, document.Lookup(b.files[to.file], to.pointer))
	}
	return &d.ref
}

// name names the definitions after their files and pointers.
func (b *bundle) name() {
	uses := slices.SortedFunc(maps.Keys(b.found), func(x, y use) int {
		return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.pointer, y.pointer), cmp.Compare(x.at, y.at))
	})
	for _, u := range uses {
		name := ""
		if u.file != b.root {
			name = camel(strings.TrimSuffix(path.Base(u.file), ".json"))
		}
		if u.pointer != "" {
			name += camel(document.UnescapeToken(u.pointer[strings.LastIndexByte(u.pointer, '/')+1:]))
		}
		unique := name
		for i := 2; unique == "" || b.defs[unique] != nil; i++ {
			unique = name + strconv.Itoa(i)
		}
		b.defs[unique] = b.found[u].schema
		b.found[u].ref = "#/$defs/" + unique
	}
}

// written returns a schema as it is written, but for references, and without the types that its
// reader does not know.
func (b *bundle) written(file string, value any) any {
	s, ok := value.(object)
	if !ok {
		return value
	}
	inner := func(value any) any { return b.written(file, value) }
	out := object{}
	for name, value := range s {
		switch k := keyword.Named(name); {
		case slices.Contains([]string{"$schema", "$id", "$defs", "definitions"}, name):
		case name == "$ref":
			out[name] = b.ref(file, value.(string), inside, b.written)
		case name == "x-ref" && !knows(b.types, value):
		case k != nil && k.Conditional:
			out[name] = withConditions(value, inner)
		default:
			out[name] = dialect.Subschemas(name, value, inner)
		}
	}
	return out
}

// knows reports whether the type that an x-ref names is one of a registry's.
func knows(types *schema.Registry, ref any) bool {
	if options, is := ref.(object); is {
		ref = options["type"]
	}
	name, _ := ref.(string)
	_, known := types.Named(name)
	return known
}

// arranged returns the root of a type, and the definitions, with their members in the order of
// their files.
func (b *bundle) arranged(t *schema.Type, root object) any {
	b.name()
	for u, d := range b.found {
		if file := b.types.Files()[u.file]; file != nil {
			b.defs[strings.TrimPrefix(d.ref, "#/$defs/")] = orderOf(file.Data, u.pointer).apply(d.schema)
		}
	}
	b.complete(root)
	if file := b.types.Files()[t.Path]; file != nil {
		return orderOf(file.Data, "").apply(root)
	}
	return root
}

// withConditions returns a rule, or an array of rules, whose conditions are replaced.
func withConditions(value any, replace func(any) any) any {
	switch v := value.(type) {
	case []any:
		rules := []any{}
		for _, rule := range v {
			rules = append(rules, withConditions(rule, replace))
		}
		return rules
	case object:
		if v["when"] != nil {
			v = maps.Clone(v)
			v["when"] = replace(v["when"])
		}
		return v
	}
	return value
}

// complete adds to a root what its document needs.
func (b *bundle) complete(root object) {
	root["$schema"] = draft
	if len(b.defs) > 0 {
		root["$defs"] = b.defs
	}
}

func encode(root any, indent string) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(root)
	return out.Bytes(), err
}

// renderSchema returns the schema of a type in some form. The properties that an
// application supplies are those of supplied.
func renderSchema(types *schema.Registry, t *schema.Type, form schemaForm, supplied []string) ([]byte, error) {
	b := newBundle(types, t)
	if form == plainForm {
		p := &plainSchema{bundle: b, t: t, supplied: supplied}
		root := p.object()
		b.name()
		b.complete(root)
		return encode(root, "  ")
	}
	root := b.written(b.root, t.Source).(object)
	if resource, ok := root["x-resource"].(object); ok {
		resource = maps.Clone(resource)
		delete(resource, "accepts") // differences that only concern who changes the schema
		root["x-resource"] = resource
	}
	return encode(b.arranged(t, root), "  ")
}
