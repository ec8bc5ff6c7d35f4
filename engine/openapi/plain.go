package openapi

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/keyword"
)

// plainSchema makes the plain form of a schema. It accepts whatever the service accepts
// of a complete object, also as it is returned: null where a member can be absent,
// references in each form, and no member that the service or the application supplies
// is required. A condition of the schema that cannot be said of such an object, because
// it is about the stored one, is left out.
type plainSchema struct {
	*bundle
	t        *schema.Type
	supplied []string
}

// scope is where a schema applies: to an object of the type, as the root of its file or
// beneath that, or to a value in it.
type scope int

const (
	atRoot scope = iota
	atObject
	inside
)

// within is the scope of the schemas that apply to the same value as one in the scope.
func (s scope) within() scope { return max(s, atObject) }

// formats are those that JSON Schema defines (draft 2020-12, validation, section 7.3).
// Others are errors for some validators.
var formats = []string{"date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri", "uri-reference",
	"iri", "iri-reference", "uuid", "uri-template", "json-pointer", "relative-json-pointer", "regex"}

// object returns the schema of an object of the type.
func (p *plainSchema) object() object {
	out := p.schema(p.root, p.t.Source, p.t.Shape, atRoot).(object)
	properties, _ := out["properties"].(object)
	if properties == nil {
		properties = object{}
		out["properties"] = properties
	}
	for name, definition := range p.common() {
		if properties[name] == nil {
			properties[name] = definition
		}
	}
	if !p.t.Writable() {
		out["readOnly"] = true
	}
	return out
}

// common are the fields that every object of the type has in addition.
func (p *plainSchema) common() object {
	id := object{"type": "string", "minLength": 1, "maxLength": 256, "description": "The id of the object. It can be chosen when the object is created."}
	readOnly := func(description string, more object) object {
		out := object{"readOnly": true, "description": description}
		maps.Copy(out, more)
		return out
	}
	time := object{"type": []any{"string", "null"}, "format": "date-time"}
	link := object{"type": []any{"object", "string", "null"}}
	fields := object{
		"id":                 id,
		"objectState":        object{"type": []any{"string", "null"}, "enum": []any{"ACTIVE", "INACTIVE", "HIDDEN", nil}, "default": "ACTIVE", "description": "Lists leave out hidden objects unless they are asked for."},
		"url":                readOnly("The relative path of the object, with its context.", object{"type": []any{"string", "null"}}),
		"createTime":         readOnly("When the object was created.", time),
		"updateTime":         readOnly("When the object was last changed by a request.", time),
		"createUser":         readOnly("Who created the object.", link),
		"updateUser":         readOnly("Who last changed the object.", link),
		"validationWarnings": readOnly("What is incomplete or inconsistent about the object, although it could be stored.", object{"type": []any{"array", "null"}}),
	}
	if !p.t.Global {
		fields["network"] = readOnly("The network that the object belongs to.", link)
	}
	if p.t.IDProperty != "" {
		fields[p.t.IDProperty] = id
	}
	return fields
}

// schema returns a schema that accepts at least the values that the service accepts.
// Shape is that of the value, nil if it can be anything.
func (p *plainSchema) schema(file string, value any, shape *document.Shape, at scope) any {
	s, ok := value.(object)
	if !ok {
		return value
	}
	if shape == nil {
		shape = document.AnyShape
	}
	if to, _ := s["x-ref"].(object); s["x-ref"] != nil && to["form"] != "object" {
		return p.reference(s)
	}
	out := object{}
	for keyword := range s {
		if kept, ok := p.keyword(keyword, file, s, shape, at); ok {
			out[keyword] = kept
		}
	}
	same := func(value any) any { return p.schema(file, value, shape, at.within()) }
	p.conditions(out, s, shape, at, same)
	describeSupplied(out, s)
	return out
}

// keyword returns the value that a keyword of a schema has in the plain form, and
// whether it remains. Conditions are added by conditions.
func (p *plainSchema) keyword(keyword, file string, s object, shape *document.Shape, at scope) (kept any, ok bool) {
	// Such a text is stored in another form, which is the one that is validated.
	converted := shape.Time || shape.Text != nil
	same := func(file string, value any) any { return p.schema(file, value, shape, at.within()) }
	value := s[keyword]
	switch keyword {
	case "$schema", "$id", "$comment", "$defs", "definitions", "unevaluatedProperties", "unevaluatedItems", "contentSchema",
		"if", "then", "else", "not", "oneOf", "dependentRequired", "dependentSchemas", "maxContains":
		return nil, false
	case "$ref":
		return p.ref(file, value.(string), at.within(), same), true
	case "format":
		name, _ := value.(string)
		return value, slices.Contains(formats, name)
	case "required":
		names := p.required(value, shape, at)
		return names, len(names) > 0
	case "properties":
		return p.members(file, s, shape), true
	case "patternProperties", "additionalProperties":
		return p.others(file, keyword, value, shape, at)
	case "pattern", "const", "enum", "minLength":
		return value, !converted
	case "maxLength":
		return value, !shape.Time
	case "minProperties", "maxProperties", "propertyNames":
		return value, at == inside && (keyword != "minProperties" || !hasDefaults(shape))
	case "items", "contains":
		return p.schema(file, value, shape.Element, inside), true
	case "prefixItems":
		items := []any{}
		for i, item := range value.([]any) {
			items = append(items, p.schema(file, item, shape.Item(i), inside))
		}
		return items, true
	case "allOf", "anyOf":
		return dialect.Subschemas(keyword, value, func(value any) any { return same(file, value) }), true
	}
	return value, !strings.HasPrefix(keyword, "x-")
}

func hasDefaults(shape *document.Shape) bool {
	for _, member := range shape.Properties {
		if member.HasDefault {
			return true
		}
	}
	return false
}

// reference returns the schema of a reference, in the forms that a client may send.
func (p *plainSchema) reference(s object) object {
	const name = "Reference"
	if _, made := p.defs[name]; !made {
		p.defs[name] = object{
			"description": "A link to another object: its id, an object with the id, or a reference as it was returned.",
			"anyOf": []any{
				object{"type": "string", "minLength": 1, "maxLength": 256},
				object{"type": "object", "required": []any{"id"}, "properties": object{
					"id":   object{"type": "string", "minLength": 1, "maxLength": 256, "description": "The id of the object."},
					"name": object{"readOnly": true, "description": "The name of the object; ignored in requests."},
					"url":  object{"readOnly": true, "description": "The relative path of the object; ignored in requests."}}},
			}}
	}
	out := object{"$ref": "#/$defs/" + name}
	for _, keyword := range annotations {
		if s[keyword] != nil {
			out[keyword] = s[keyword]
		}
	}
	describeSupplied(out, s)
	return out
}

// annotations are the keywords that describe a value, and refuse none.
var annotations = []string{"title", "description", "default", "examples", "readOnly", "writeOnly", "deprecated"}

// required returns the names of the members that a request must have.
func (p *plainSchema) required(value any, shape *document.Shape, at scope) []any {
	names, _ := value.([]any)
	return slices.DeleteFunc(slices.Clone(names), func(name any) bool {
		member := shape.Properties[name.(string)]
		return p.isSupplied(name.(string), at) || member != nil && (member.HasDefault || member.ReadOnly || keyword.IsSupplied(member) || len(keyword.Was(member)) > 0)
	})
}

// isSupplied reports whether a member of the object may be there although the request
// does not have it: the application supplies it, or the path does.
func (p *plainSchema) isSupplied(name string, at scope) bool {
	return at != inside && (slices.Contains(p.supplied, name) || name == p.t.Parent)
}

// members returns the members of an object. Null removes one, unless the request must
// have it.
func (p *plainSchema) members(file string, s object, shape *document.Shape) object {
	out := object{}
	declared, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	for name, value := range declared {
		member := shape.Properties[name]
		out[name] = p.schema(file, value, member, inside)
		if member == nil || member.HasDefault || member.ReadOnly || keyword.IsSupplied(member) || !slices.Contains(required, any(name)) || slices.Contains(p.supplied, name) {
			out[name] = orAbsent(out[name])
		}
		addFormer(out, name, keyword.Was(member))
	}
	return out
}

// others returns the value of a keyword for members that are not declared by name, and
// whether it can be kept: on an object of the type, it must leave the common fields
// alone.
func (p *plainSchema) others(file, keyword string, value any, shape *document.Shape, at scope) (any, bool) {
	if keyword == "additionalProperties" {
		return orAbsent(p.schema(file, value, shape.Extra, inside)), at != atObject
	}
	kept := object{}
	for pattern, definition := range value.(object) {
		compiled, err := regexp.Compile(pattern)
		if err != nil || at != inside && slices.ContainsFunc(slices.Collect(maps.Keys(p.common())), compiled.MatchString) {
			continue
		}
		var member *document.Shape
		if i := slices.IndexFunc(shape.Patterns, func(p *regexp.Regexp) bool { return p.String() == pattern }); i >= 0 {
			member = shape.Matching[1<<i]
		}
		kept[pattern] = orAbsent(p.schema(file, definition, member, inside))
	}
	return kept, len(kept) > 0
}

// orAbsent returns the schema of a member that can also be null, which stands for an
// absent one.
func orAbsent(value any) any {
	s, ok := value.(object)
	if !ok {
		return value
	}
	name, single := s["type"].(string)
	several, _ := s["type"].([]any)
	nullable := name == "null" || slices.Contains(several, any("null"))
	combined := slices.ContainsFunc([]string{"$ref", "const", "allOf", "anyOf", "oneOf", "not"}, func(keyword string) bool { return s[keyword] != nil })
	switch {
	case len(s) == 0, nullable && s["enum"] == nil && !combined:
		return s
	case single && name != "null" && !combined:
		out := maps.Clone(s)
		out["type"] = []any{name, "null"}
		if values, limited := s["enum"].([]any); limited {
			out["enum"] = append(slices.Clone(values), nil)
		}
		return out
	}
	out, inner := object{}, maps.Clone(s)
	for _, keyword := range annotations {
		if s[keyword] != nil {
			out[keyword] = s[keyword]
			delete(inner, keyword)
		}
	}
	if len(inner) > 0 {
		out["anyOf"] = []any{inner, object{"type": "null"}}
	}
	return out
}
