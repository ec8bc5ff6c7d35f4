package openapi

import (
	"cmp"
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

// form is the side of an exchange that a schema describes. The two differ: a
// response has read-only properties and expanded references, a request has
// write-only properties and references in every form that is accepted. A merge patch is
// a request of which an object may have some members only, or null for one.
type form int

const (
	response form = iota
	request
	mergePatch
)

// suffix distinguishes the components for requests.
func (f form) suffix() string { return [...]string{"", "Input", "Patch"}[f] }

// location is a schema in a file: the path of the file, relative to the folder of
// schemas, and a JSON Pointer.
type location struct{ file, pointer string }

// components are the schemas of a document. A schema is added when something first
// refers to it.
type components struct {
	types *schema.Registry
	files map[string]map[string]any
	// named has the component names of each location, without suffixes.
	named map[location]string
	taken map[string]bool
	done  map[string]object
}

// newComponents returns no components. The taken names are those of components and
// operations that fragments define.
func newComponents(types *schema.Registry, taken map[string]bool) *components {
	c := &components{types: types, files: types.Shared(), named: map[location]string{}, taken: taken, done: map[string]object{}}
	// A new type must not rename what was there before: those that can collide with it
	// come first.
	for _, file := range slices.Sorted(maps.Keys(types.Shared())) {
		c.named[location{file: file}] = c.unused(camel(strings.TrimSuffix(path.Base(file), ".json")))
	}
	for _, t := range types.Types() {
		c.files[typeFile(t)] = t.Source
		c.named[location{file: typeFile(t)}] = c.unused(modelName(t.Name))
	}
	return c
}

// typeFile is the path of the file of a type in references. It cannot be that of a
// shared definition.
func typeFile(t *schema.Type) string { return t.Name + ".json" }

// unused returns a name that no other component has, nor one that is derived from it:
// those of the form for requests, of envelopes, and of operations.
func (c *components) unused(name string) string {
	name = cmp.Or(name, "Schema")
	unique := name
	for i := 2; slices.ContainsFunc(derived(unique), func(name string) bool { return c.taken[name] }); i++ {
		unique = name + strconv.Itoa(i)
	}
	for _, name := range derived(unique) {
		c.taken[name] = true
	}
	return unique
}

// The suffixes distinguish the component for an operation of a batch, the response with
// an object, and those to refused requests.
const (
	operationSuffix = "Operation"
	responseSuffix  = "Response"
	refusedSuffix   = "Refused"
)

// derived are a name, and those that are derived from it.
func derived(name string) []string {
	return []string{name, name + request.suffix(), name + mergePatch.suffix(), name + "Page", name + "Results", name + operationSuffix, name + responseSuffix, operationOf(name)}
}

// operationOf marks a name as that of operations, which is no component.
func operationOf(name string) string { return name + "()" }

// ref returns a reference to the component of a location, which it adds.
func (c *components) ref(at location, as form) object {
	name := c.named[at]
	if name == "" {
		token := at.pointer[strings.LastIndexByte(at.pointer, '/')+1:]
		name = c.unused(c.named[location{file: at.file}] + camel(document.UnescapeToken(token)))
		c.named[at] = name
	}
	if name += as.suffix(); c.done[name] == nil {
		c.done[name] = object{}
		content := c.value(at.file, document.Lookup(c.files[at.file], at.pointer), as)
		if written, ok := content.(object); ok {
			delete(written, "title") // generators would name classes after it
			c.done[name] = written
		}
	}
	return refTo("schemas", name)
}

func refTo(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

// target resolves a $ref in a file.
func target(file, ref string) location {
	other, pointer, _ := strings.Cut(ref, "#")
	if other == "" {
		return location{file, pointer}
	}
	return location{path.Join(path.Dir(file), other), pointer}
}

// conditions are the keywords that hold for stored objects as a whole. A response
// may show a part of an object, and a request may change a part of one.
var conditions = []string{"required", "if", "then", "else", "not", "dependentRequired", "dependentSchemas", "minProperties", "maxProperties",
	"contains", "minContains", "maxContains", "minItems", "unevaluatedProperties", "unevaluatedItems", "propertyNames"}

// leftOut are the keywords that a component does not repeat: those of the file, and
// definitions, which are components of their own.
var leftOut = []string{"$schema", "$id", "$comment", "$defs", "definitions", "x-resource"}

// value returns a schema in one form.
func (c *components) value(file string, value any, as form) any {
	s, ok := value.(map[string]any)
	if !ok {
		return value
	}
	switch {
	case s["x-ref"] != nil && as == response:
		return c.reference(s)
	case s["x-ref"] != nil && s["$ref"] == nil && linked(s):
		return c.written(s)
	}
	out, inner := object{}, func(s any) any { return c.value(file, s, as) }
	partial := as == response || as == mergePatch && s["type"] != "array"
	for keyword, value := range s {
		switch {
		case slices.Contains(leftOut, keyword), keyword == "x-personal" && as != response:
		case partial && slices.Contains(conditions, keyword) && (keyword != "dependentSchemas" || as != response): // which may declare members
		case as == mergePatch && (keyword == "items" || keyword == "prefixItems"): // arrays are replaced
			out[keyword] = dialect.Subschemas(keyword, value, func(s any) any { return c.value(file, s, request) })
		case as == mergePatch && (keyword == "additionalProperties" || keyword == "patternProperties"):
			out[keyword] = dialect.Subschemas(keyword, value, func(s any) any { return orNull(inner(s)) })
		case keyword == "$ref" && as == mergePatch && s["x-ref"] != nil: // a reference is replaced
			maps.Copy(out, c.ref(target(file, value.(string)), request))
		case keyword == "$ref":
			maps.Copy(out, c.ref(target(file, value.(string)), as))
		case keyword == "oneOf" && as != request: // without conditions, several may hold
			out["anyOf"] = dialect.Subschemas(keyword, value, inner)
		case keyword == "properties":
			out[keyword] = c.properties(file, s, as)
		default:
			out[keyword] = dialect.Subschemas(keyword, value, inner)
		}
	}
	describeSupplied(out, s)
	if as == request {
		c.withoutReadOnly(out, s)
	}
	withoutEmpty(out)
	return c.known(out)
}

// describeSupplied adds to a schema what clients should know of a value that the service
// supplies.
func describeSupplied(out, s object) {
	for _, k := range keyword.OfValues() {
		if k.Supply != nil && s[k.Name] != nil {
			text, _ := s["description"].(string)
			out["description"] = strings.TrimSpace(text + " " + k.Table)
			if k.Name == "x-sequence" {
				out["readOnly"] = true
			}
			if k.Sample != nil && out["examples"] == nil {
				shape := &document.Shape{}
				k.Read(shape, s[k.Name])
				value, _ := k.Sample(shape)
				out["examples"] = []any{value}
			}
		}
	}
}

// withoutEmpty removes combinations of schemas that say nothing.
func withoutEmpty(s object) {
	says := func(part any) bool {
		o, is := part.(object)
		return !is || len(o) > 0
	}
	if all, ok := s["allOf"].([]any); ok {
		all = slices.DeleteFunc(slices.Clone(all), func(part any) bool { return !says(part) })
		if s["allOf"] = all; len(all) == 0 {
			delete(s, "allOf")
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if any, ok := s[keyword].([]any); ok && !slices.ContainsFunc(any, says) {
			delete(s, keyword)
		}
	}
}

// withoutConditions removes the conditions from a schema, and from those that always
// apply with it.
func withoutConditions(s object) {
	for _, keyword := range conditions {
		delete(s, keyword)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[keyword].([]any)
		for _, part := range parts {
			if inner, ok := part.(object); ok {
				withoutConditions(inner)
			}
		}
	}
	withoutEmpty(s)
}

// linked reports whether every value of a reference is a link to an object. Otherwise,
// a string is an ordinary value.
func linked(s object) bool {
	target, is := s["x-ref"].(map[string]any)
	return !is || target["form"] != "object"
}

// sharedReference is the definition of references that schemas can share.
const sharedReference = "common/reference.json"

// written returns the schema of a reference in a request, which accepts more forms than
// the schema that declares it.
func (c *components) written(s object) object {
	out := refTo("schemas", "ReferenceToWrite")
	if at := (location{file: sharedReference}); c.files[at.file] != nil {
		out = c.ref(at, request)
	}
	maps.Copy(out, beside(s, "description", "default", "examples"))
	describeSupplied(out, s)
	return c.known(out)
}

// reference returns the schema of a reference in a response. Where a string is an
// ordinary value, only an object is a reference.
func (c *components) reference(s map[string]any) object {
	out := refTo("schemas", "ObjectReference")
	if !linked(s) {
		out = object{"anyOf": []any{object{"type": []any{"string", "null"}}, out}}
	}
	maps.Copy(out, beside(s, "description", "readOnly"))
	describeSupplied(out, s)
	return c.known(out)
}

// known removes from the schema of a reference a type that its reader does not know.
func (c *components) known(s object) object {
	if !knows(c.types, s["x-ref"]) {
		delete(s, "x-ref")
	}
	return s
}

// properties returns the properties of a schema that are in exchanges of one form.
func (c *components) properties(file string, s map[string]any, as form) object {
	out := object{}
	named, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for name, member := range named {
		if s, ok := member.(map[string]any); ok && hidden(s, as) {
			continue
		}
		out[name] = c.value(file, member, as)
		if as == mergePatch {
			out[name] = onCreate(out[name])
			if !slices.Contains(required, any(name)) {
				out[name] = orNull(out[name])
			}
		}
		if s, ok := member.(map[string]any); ok && as != response {
			addFormer(out, name, keyword.Strings(s["x-was"]))
		}
	}
	return out
}

// addFormer adds the former names of a property, which requests may use, to the members of an
// object.
func addFormer(members object, name string, former []string) {
	s, ok := members[name].(object)
	for _, other := range former {
		if ok && other != name {
			members[other] = maps.Clone(s)
			maps.Copy(members[other].(object), object{"deprecated": true, "description": "The former name of " + name + "."})
		}
	}
}

// hidden reports whether a property is in exchanges of the other form alone.
func hidden(s map[string]any, as form) bool {
	if as == response {
		return s["writeOnly"] == true
	}
	return s["readOnly"] == true || s["x-sequence"] != nil
}

// withoutReadOnly removes what is not in requests from the required properties.
func (c *components) withoutReadOnly(out object, s map[string]any) {
	required, _ := s["required"].([]any)
	properties, _ := s["properties"].(map[string]any)
	if required == nil || properties == nil {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(required), func(name any) bool {
		property, ok := properties[name.(string)].(map[string]any)
		return ok && hidden(property, request)
	})
	if out["required"] = kept; len(kept) == 0 {
		delete(out, "required")
	}
}

// camel returns words as one name, such as WorkOrder.
func camel(text string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
