package openapi

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"marquee/engine/schema"
)

// typeNames are the names of a type in operationIds and components.
type typeNames struct{ one, many string }

// names derives the names of a type from its title, such as WorkOrder and WorkOrders
// from "Work order".
func names(t *schema.Type) typeNames {
	one := camel(t.Title)
	if one == "" || !unicode.IsLetter(rune(one[0])) {
		one = camel("type-" + t.Name)
	}
	return typeNames{one, plural(one)}
}

// plural is the plural of an English noun.
func plural(one string) string {
	stem, ending := one[:len(one)-1], one[len(one)-1:]
	switch {
	case ending == "y" && !strings.HasSuffix(one, "ay") && !strings.HasSuffix(one, "ey") && !strings.HasSuffix(one, "oy"):
		return stem + "ies"
	case ending == "s", ending == "x", strings.HasSuffix(one, "ch"), strings.HasSuffix(one, "sh"):
		return one + "es"
	}
	return one + "s"
}

// addType adds the operations of a type, and the components that they refer to.
func (b *builder) addType(t *schema.Type) {
	at := location{file: typeFile(t)}
	name := b.components.named[at]
	b.object(t, name)
	b.page(t, name)
	b.tag(t)

	path := "/api/v1/" + t.Name
	parameters := b.context(t)
	if t.Parent != "" {
		path += "/{" + t.Parent + "}"
		parameters = append(parameters, object{"name": t.Parent, "in": "path", "required": true,
			"description": "The id of the object that " + t.Parent + " refers to.", "schema": idSchema()})
	}
	below := append(slices.Clone(parameters), object{"name": "id", "in": "path", "required": true,
		"description": "The id of the object, percent-encoded.", "schema": idSchema()})
	many := plural(name)
	b.put(path, t, "GET", "list"+many, b.list(t, name), parameters)
	b.put(path, t, "HEAD", "head"+many, b.list(t, name), parameters)
	b.put(path+"/{id}", t, "GET", "get"+name, b.get(t, name), below)
	b.put(path+"/{id}", t, "HEAD", "head"+name, b.get(t, name), below)
	if t.Parent == "" {
		b.put(path, t, "POST", "save"+many, b.saveAll(t, name), parameters)
		b.put(path, t, "PUT", "put"+many, b.saveAll(t, name), parameters)
	}
	b.put(path+"/{id}", t, "POST", "save"+name, b.save(t, name), below)
	b.put(path+"/{id}", t, "PUT", "put"+name, b.save(t, name), below)
}

func idSchema() object { return refTo("schemas", "ObjectId") }

// put adds an operation that the type supports to a path.
func (b *builder) put(path string, t *schema.Type, method, id string, operation object, parameters []any) {
	writes := method == "POST" || method == "PUT"
	if !slices.Contains(t.Methods, method) || writes && !b.may(t) {
		return
	}
	operation["operationId"] = id
	operation["tags"] = []any{t.Title}
	if method == "HEAD" {
		operation["summary"] = "Headers: " + operation["summary"].(string)
		operation["responses"] = withoutBodies(operation["responses"].(object))
	}
	item := b.path(path)
	item["parameters"] = parameters
	item[strings.ToLower(method)] = operation
}

// withoutBodies returns the responses to HEAD.
func withoutBodies(responses object) object {
	out := object{}
	for status, value := range responses {
		r := maps.Clone(value.(object))
		delete(r, "content")
		out[status] = r
	}
	return out
}

// context returns the parameter that selects the network of an object.
func (b *builder) context(t *schema.Type) []any {
	if t.Global {
		return []any{refTo("parameters", "anyContext")}
	}
	return []any{refTo("parameters", "context")}
}

// tag describes a type.
func (b *builder) tag(t *schema.Type) {
	b.tags[t.Title] = object{"name": t.Title, "description": t.Description, "x-group": t.Group, "x-permission": t.Permission,
		"externalDocs": object{"url": "/docs/types/" + t.Name, "description": "Rules and references"}}
}

// object adds the components of a type's objects: what is returned, and what can be
// written.
func (b *builder) object(t *schema.Type, name string) {
	at := location{file: typeFile(t)}
	b.components.ref(at, response)
	read := b.components.done[name]
	properties := read["properties"].(object)
	for common, definition := range b.common(t) {
		if properties[common] == nil {
			properties[common] = definition
		}
	}
	read["x-resource"] = t.Source["x-resource"]
	if t.Writable() {
		b.components.ref(at, request)
		b.input(t, name+request.suffix())
	}
}

// common are the fields that every object of a type has in addition.
func (b *builder) common(t *schema.Type) object {
	fields := object{}
	for _, field := range []string{"id", "objectState", "url", "createTime", "updateTime", "createUser", "updateUser", "validationWarnings"} {
		fields[field] = refTo("schemas", "Common"+camel(field))
	}
	if !t.Global {
		fields["network"] = refTo("schemas", "CommonNetwork")
	}
	if t.IDProperty != "" {
		fields[t.IDProperty] = refTo("schemas", "CommonId")
	}
	return fields
}

// input completes the schema of what can be written. Absent properties of a stored
// object are left alone, so that none is required; those that a new object needs are
// named.
func (b *builder) input(t *schema.Type, name string) {
	s := b.components.done[name]
	declared, _ := s["required"].([]any)
	required := slices.DeleteFunc(slices.Clone(declared), func(name any) bool {
		member := t.Shape.Properties[name.(string)]
		return slices.Contains(b.supplied[t.Name], name.(string)) || member != nil && member.HasDefault
	})
	withoutConditions(s)
	properties := s["properties"].(object)
	for name, value := range properties {
		value = onCreate(value)
		properties[name] = value
		if !slices.Contains(required, any(name)) {
			properties[name] = orNull(value)
		}
	}
	properties["id"], properties["objectState"] = refTo("schemas", "CommonId"), refTo("schemas", "CommonObjectState")
	if t.IDProperty != "" {
		properties[t.IDProperty] = refTo("schemas", "CommonId")
	}
	if t.IDRequired && t.Parent == "" {
		required = append(required, "id")
	}
	if len(required) > 0 {
		s["x-required-on-create"] = required
	}
	s["title"] = name
	s["description"] = t.Description + " An absent property is left as it is, and null removes a value."
}

// onCreate returns the schema of a property whose default is that of a new object: a
// client that added the default to an update would change the object.
func onCreate(value any) any {
	s, ok := value.(object)
	if !ok || s["default"] == nil {
		return value
	}
	out := maps.Clone(s)
	out["x-default-on-create"] = s["default"]
	delete(out, "default")
	return out
}

// orNull returns a schema that also accepts null.
func orNull(value any) any {
	s, ok := value.(object)
	if !ok {
		return value
	}
	out := object{}
	for _, keyword := range []string{"description", "x-default-on-create", "examples", "x-ref", "x-immutable", "x-transitions", "x-secret"} {
		if s[keyword] != nil {
			out[keyword] = s[keyword]
		}
	}
	if name, single := s["type"].(string); single && s["enum"] == nil && s["const"] == nil {
		out = maps.Clone(s)
		out["type"] = []any{name, "null"}
		return out
	}
	inner := maps.Clone(s)
	for keyword := range out {
		delete(inner, keyword)
	}
	out["anyOf"] = []any{inner, object{"type": "null"}}
	return out
}

// page adds the envelopes of lists and of collection writes.
func (b *builder) page(t *schema.Type, name string) {
	results := object{"type": "array", "items": refTo("schemas", name)}
	page := object{"type": "object", "required": []any{"results"}, "properties": object{
		"results": results, "totalCount": refTo("schemas", "TotalCount"), "truncated": refTo("schemas", "Truncated"),
		"nextCursor": refTo("schemas", "NextCursor")}}
	if t.Paged {
		page["properties"].(object)["page"] = refTo("schemas", "PageNumber")
		page["properties"].(object)["pageSize"] = refTo("schemas", "PageLength")
	}
	b.components.done[name+"Page"] = page
	if t.Writable() {
		b.components.done[name+"Results"] = object{"type": "object", "required": []any{"results", "totalCount"}, "properties": object{
			"results": results, "totalCount": refTo("schemas", "TotalCount"), "truncated": refTo("schemas", "Truncated")}}
	}
}
