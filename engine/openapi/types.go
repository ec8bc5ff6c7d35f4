package openapi

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/schema/keyword"
)

// modelName is the name of a type in operationIds and components: a path of it with a
// capital, which no other type can have.
func modelName(path string) string {
	if !unicode.IsLetter(rune(path[0])) {
		return "Type" + path
	}
	return camel(path)
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
	b.answers[name+responseSuffix] = answer("The object.", refTo("schemas", name), "ETag", "Location", "Marquee-Position", "Warning")
	b.page(t, name)
	b.tag(t)
	b.operations(t, t.Name, name)
	for _, path := range t.RequestPaths()[1:] {
		b.operations(t, path, b.components.unused(modelName(path)))
	}
}

// operations adds the operations of a type at one of its paths, with the names of components
// and one in their ids.
func (b *builder) operations(t *schema.Type, at, id string) {
	name := b.components.named[location{file: typeFile(t)}]
	path := "/api/v1/" + at
	parameters := b.context(t)
	if t.Parent != "" {
		path += "/{" + t.Parent + "}"
		parameters = slices.Insert(parameters, 0, any(object{"name": t.Parent, "in": "path", "required": true,
			"description": "The id of the object that " + t.Parent + " refers to.", "schema": idSchema()}))
	}
	// Generators make arguments of parameters in their order, which must begin with those
	// that are required.
	below := slices.Insert(slices.Clone(parameters), len(parameters)-1, any(refTo("parameters", "objectId")))
	below = append(below, refTo("parameters", "ifMatch"), refTo("parameters", "ifNoneMatch"))
	b.put(path, t, "list"+id, b.list(t, name), parameters, "GET", "HEAD")
	b.put(path+"/{id}", t, "get"+id, b.get(t, name), below, "GET", "HEAD")
	if t.Parent == "" {
		b.put(path, t, "save"+id, b.saveAll(t, name), parameters, "POST", "PUT")
	}
	b.put(path+"/{id}", t, "put"+id, b.save(t, name), below, "PUT", "POST")
	b.put(path+"/{id}", t, "patch"+id, b.patch(t, name), below, "PATCH")
	b.put(path+"/{id}", t, "remove"+id, b.remove(t), below, "DELETE")
	if t.Shape.HasPersonal && b.who.erases(t) {
		b.answers["Erased"] = answer("With 202, the history follows.", refTo("schemas", "Erasure"))
		operation := b.erase(t, name)
		operation["operationId"] = "erase" + id
		b.hide(t, operation)
		deprecate(operation, at != t.Name)
		b.paths[path+"/{id}/erase"] = object{"parameters": below[:len(below)-2], "post": operation}
	}
}

// deprecate marks an operation that is deprecated.
func deprecate(operation object, is bool) {
	if is {
		operation["deprecated"] = true
	}
}

func idSchema() object { return refTo("schemas", "ObjectId") }

// put adds an operation to a path, with the first of its methods that the type supports.
// Other methods that it supports do the same.
func (b *builder) put(path string, t *schema.Type, id string, operation object, parameters []any, methods ...string) {
	methods = slices.DeleteFunc(methods, func(method string) bool { return !slices.Contains(t.ObjectMethods(), method) })
	if len(methods) == 0 || methods[0] != "GET" && !b.who.writes(t) {
		return
	}
	operation["operationId"] = id
	operation["tags"] = []any{t.Title}
	deprecate(operation, !strings.HasPrefix(path+"/", "/api/v1/"+t.Name+"/"))
	b.hide(t, operation)
	if t.Public != nil && methods[0] == "GET" {
		operation["security"] = []any{object{}, object{"bearer": []any{}}, object{"password": []any{}}}
	}
	if len(methods) > 1 {
		operation[twin] = methods[1]
	}
	item := b.path(path)
	item["parameters"] = parameters
	item[strings.ToLower(methods[0])] = operation
}

// hide adds to an operation that callers who may not read the type do not know it.
func (b *builder) hide(t *schema.Type, operation object) {
	if t.Secluded() {
		all := append(writing.messages(), message.TypeUnknown)
		operation["responses"].(object)["404"] = b.refusal("UnknownType404", byStatus(all)["404"])
	}
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
	rules := "[Rules and references](" + b.server + "/docs/types/" + t.Name + ")"
	b.tags[t.Title] = object{"name": t.Title, "description": strings.TrimSpace(t.Description + " " + rules), "x-group": t.Group, "x-permission": t.Permission}
	if t.Create != t.Permission || t.Read != "" {
		several := object{"write": t.Permission, "create": t.Create}
		if t.Read != "" {
			several["read"] = t.Read
		}
		b.tags[t.Title]["x-permissions"] = several
	}
}

// object adds the components of a type's objects: what is returned, and what can be
// written.
func (b *builder) object(t *schema.Type, name string) {
	at := location{file: typeFile(t)}
	b.components.ref(at, response)
	read := b.components.done[name]
	if t.Name == "roles" {
		openPermissions(read)
	}
	b.withCommon(t, read)
	if t.Writable() {
		b.components.ref(at, mergePatch)
		b.components.ref(at, request)
		declared, _ := b.components.done[name+request.suffix()]["required"].([]any)
		for _, as := range []form{request, mergePatch} {
			b.input(t, name+as.suffix(), declared)
		}
	}
}

// openPermissions lets roles that are returned have other permissions than those that can be
// granted now: they keep permissions that no schema uses any more, and further types
// declare further ones.
func openPermissions(read object) {
	properties, _ := read["properties"].(object)
	permissions, _ := properties["permissions"].(object)
	items, ok := permissions["items"].(object)
	if !ok {
		return
	}
	permissions, items = maps.Clone(permissions), maps.Clone(items)
	items["x-extensible-enum"] = items["enum"]
	delete(items, "enum")
	permissions["items"], properties["permissions"] = items, permissions
}

// commonFields are those of every object, which are in the component CommonFields.
var commonFields = []string{"id", "objectState", "url", "createTime", "updateTime", "createUser", "updateUser", "validationWarnings"}

// withCommon adds the fields that every object of a type has to the schema of what is
// returned.
func (b *builder) withCommon(t *schema.Type, read object) {
	properties := read["properties"].(object)
	if !t.Global && properties["network"] == nil {
		properties["network"] = refTo("schemas", "CommonNetwork")
	}
	if t.IDProperty != "" {
		properties[t.IDProperty] = refTo("schemas", "CommonId")
	}
	// Not all generators can merge two declarations of a property.
	if read["allOf"] == nil && !slices.ContainsFunc(commonFields, func(field string) bool { return properties[field] != nil }) {
		extend(read, "CommonFields")
		return
	}
	for _, field := range commonFields {
		if properties[field] == nil {
			properties[field] = refTo("schemas", "Common"+camel(field))
		}
	}
}

// extend makes a schema of objects one that extends a component. Its own properties are
// in a schema beside the reference: not all generators read those beside allOf.
func extend(s object, name string) {
	own := object{}
	for _, keyword := range []string{"type", "properties", "required"} {
		if s[keyword] != nil {
			own[keyword] = s[keyword]
			delete(s, keyword)
		}
	}
	s["allOf"] = []any{refTo("schemas", name), own}
}

// input completes a schema of what can be written. Absent properties of a stored
// object are left alone, so that none is required; of those that the type declares to be,
// the ones that a new object needs are named.
func (b *builder) input(t *schema.Type, name string, declared []any) {
	s := b.components.done[name]
	required := slices.DeleteFunc(slices.Clone(declared), func(name any) bool {
		member := t.Shape.Properties[name.(string)]
		return slices.Contains(b.supplied[t.Collection()], name.(string)) || member != nil && (member.HasDefault || keyword.IsSupplied(member))
	})
	withoutConditions(s)
	properties := s["properties"].(object)
	for name, value := range properties {
		value = onCreate(value)
		properties[name] = value
		// A required value that the service supplied cannot be removed again.
		kept := slices.Contains(declared, any(name)) && t.Shape.Properties[name] != nil && keyword.IsSupplied(t.Shape.Properties[name])
		if !slices.Contains(required, any(name)) && !kept {
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
	if codes := codesOf(b.ofSchema(t)); len(codes) > 0 {
		s["x-codes"] = codes
	}
	delete(s, "description") // that of the type
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
	out := beside(s, "description", "examples")
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

// beside returns the annotations of a schema that remain beside what takes its place, and
// those of its other keywords that are named.
func beside(s object, names ...string) object {
	out := object{}
	for keyword, value := range s {
		if strings.HasPrefix(keyword, "x-") || slices.Contains(names, keyword) {
			out[keyword] = value
		}
	}
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
	fields := "ListFields"
	if t.Paged {
		fields = "PageFields"
	}
	b.components.done[name+"Page"] = envelope(results, fields)
	if t.Writable() {
		b.components.done[name+"Results"] = envelope(results, "ResultFields")
	}
}

// envelope is an object with results and the properties of a component.
func envelope(results object, fields string) object {
	s := object{"required": []any{"results"}, "properties": object{"results": results}}
	extend(s, fields)
	return s
}
