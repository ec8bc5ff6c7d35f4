package openapi

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"marquee/engine/schema"
)

// modelName is the name of a type in operationIds and components: its path with a
// capital, which no other type can have.
func modelName(t *schema.Type) string {
	if !unicode.IsLetter(rune(t.Name[0])) {
		return "Type" + t.Name
	}
	return camel(t.Name)
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
	b.answers[name+responseSuffix] = answer("The object, without a body if it was created and Prefer was return=minimal.", refTo("schemas", name), "ETag", "Location", "Warning")
	b.page(t, name)
	b.tag(t)

	path := "/api/v1/" + t.Name
	parameters := b.context(t)
	if t.Parent != "" {
		path += "/{" + t.Parent + "}"
		parameters = slices.Insert(parameters, 0, any(object{"name": t.Parent, "in": "path", "required": true,
			"description": "The id of the object that " + t.Parent + " refers to.", "schema": idSchema()}))
	}
	// Generators make arguments of parameters in their order, which must begin with those
	// that are required.
	below := slices.Insert(slices.Clone(parameters), len(parameters)-1, any(object{"name": "id", "in": "path", "required": true,
		"description": "The id of the object, percent-encoded.", "schema": idSchema()}))
	b.put(path, t, "list"+name, b.list(t, name), parameters, "GET", "HEAD")
	b.put(path+"/{id}", t, "get"+name, b.get(t, name), below, "GET", "HEAD")
	if t.Parent == "" {
		b.put(path, t, "save"+name, b.saveAll(t, name), parameters, "POST", "PUT")
	}
	b.put(path+"/{id}", t, "put"+name, b.save(t, name), below, "PUT", "POST")
	b.put(path+"/{id}", t, "patch"+name, b.patch(t, name), below, "PATCH")
}

func idSchema() object { return refTo("schemas", "ObjectId") }

// put adds an operation to a path, with the first of its methods that the type supports.
// Other methods that it supports do the same.
func (b *builder) put(path string, t *schema.Type, id string, operation object, parameters []any, methods ...string) {
	methods = slices.DeleteFunc(methods, func(method string) bool { return !slices.Contains(t.ObjectMethods(), method) })
	if len(methods) == 0 || methods[0] != "GET" && !b.may(t) {
		return
	}
	operation["operationId"] = id
	operation["tags"] = []any{t.Title}
	if len(methods) > 1 {
		operation[twin] = methods[1]
	}
	item := b.path(path)
	item["parameters"] = parameters
	item[strings.ToLower(methods[0])] = operation
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
		b.components.ref(at, mergePatch)
		b.components.ref(at, request)
		declared, _ := b.components.done[name+request.suffix()]["required"].([]any)
		for _, as := range []form{request, mergePatch} {
			b.input(t, name+as.suffix(), declared)
		}
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

// input completes a schema of what can be written. Absent properties of a stored
// object are left alone, so that none is required; of those that the type declares to be,
// the ones that a new object needs are named.
func (b *builder) input(t *schema.Type, name string, declared []any) {
	s := b.components.done[name]
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
	if !ok || acceptsNull(s) {
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

func acceptsNull(s object) bool {
	types, _ := s["type"].([]any)
	parts, _ := s["anyOf"].([]any)
	return slices.Contains(types, any("null")) || slices.ContainsFunc(parts, func(part any) bool {
		inner, _ := part.(object)
		return inner["type"] == "null"
	})
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
