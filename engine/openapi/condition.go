package openapi

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
)

// notNull accepts any value but null.
var notNull = object{"not": object{"type": "null"}}

// conditions adds the conditions of a schema that apply to what a client sends.
// Same returns the plain form of a schema that applies to the same value.
func (p *plainSchema) conditions(out, s object, shape *document.Shape, at scope, same func(any) any) {
	and := func(condition any) {
		all, _ := out["allOf"].([]any)
		out["allOf"] = append(slices.Clip(all), condition)
	}
	if when, given := s["if"]; given {
		if exact, ok := p.exact(when, shape, at); ok {
			condition := object{"if": exact}
			for _, branch := range []string{"then", "else"} {
				if value, given := s[branch]; given {
					condition[branch] = same(value)
				}
			}
			and(condition)
		}
	}
	if value, given := s["not"]; given {
		if exact, ok := p.exact(value, shape, at); ok {
			out["not"] = exact
		}
	}
	if branches, ok := s["oneOf"].([]any); ok {
		exact, ok := p.exactAll(branches, shape, at)
		switch {
		case ok:
			out["oneOf"] = exact
		default:
			either := []any{}
			for _, branch := range branches {
				either = append(either, same(branch))
			}
			and(object{"anyOf": either})
		}
	}
	names, _ := s["dependentRequired"].(object)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if present, ok := p.present(name, shape, at); ok {
			if others := p.required(names[name], shape, at); len(others) > 0 {
				and(object{"if": present, "then": object{"required": others}})
			}
		}
	}
	schemas, _ := s["dependentSchemas"].(object)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if present, ok := p.present(name, shape, at); ok {
			and(object{"if": present, "then": same(schemas[name])})
		}
	}
}

// present returns the condition that a member is set in a request, which its default
// sets otherwise.
func (p *plainSchema) present(name string, shape *document.Shape, at scope) (any, bool) {
	if member := shape.Properties[name]; member == nil || member.HasDefault || keyword.IsSupplied(member) {
		return nil, false
	}
	return p.exact(object{"required": []any{name}}, shape, at)
}

// copied are the keywords that mean the same of a value that is sent and of the one that
// is stored, if that is neither a reference nor a text with a format.
var copied = []string{"type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems"}

// exact returns a schema that accepts a value in a request if, and only if, the
// service's own schema accepts what is stored for it. There is not always one.
func (p *plainSchema) exact(value any, shape *document.Shape, at scope) (any, bool) {
	s, ok := value.(object)
	if !ok {
		return value, true
	}
	var all []any
	out := object{}
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		switch value := s[keyword]; {
		case slices.Contains(annotations, keyword), keyword == "$comment", keyword == "then" || keyword == "else":
		case slices.Contains(copied, keyword):
			out[keyword] = value
		case keyword == "const":
			out[keyword], ok = value, ok && isScalar(value)
		case keyword == "enum":
			values, _ := value.([]any)
			out[keyword], ok = value, ok && !slices.ContainsFunc(values, func(v any) bool { return !isScalar(v) })
		case keyword == "required":
			names, _ := value.([]any)
			for _, name := range names {
				condition, known := p.exactMember(name.(string), nil, shape, at)
				all, ok = append(all, condition), ok && known
			}
		case keyword == "properties":
			members, _ := value.(object)
			for _, name := range slices.Sorted(maps.Keys(members)) {
				condition, known := p.exactMember(name, members[name], shape, at)
				all, ok = append(all, condition), ok && known
			}
		case keyword == "allOf", keyword == "anyOf", keyword == "oneOf":
			branches, _ := value.([]any)
			exact, known := p.exactAll(branches, shape, at)
			out[keyword], ok = exact, ok && known
		case keyword == "not":
			exact, known := p.exact(value, shape, at)
			out[keyword], ok = exact, ok && known
		case keyword == "if":
			branches := []any{value, true, true}
			for i, branch := range []string{"then", "else"} {
				if other, given := s[branch]; given {
					branches[i+1] = other
				}
			}
			exact, known := p.exactAll(branches, shape, at)
			if ok = ok && known; ok {
				all = append(all, object{"if": exact[0], "then": exact[1], "else": exact[2]})
			}
		default:
			return nil, false
		}
	}
	if len(all) > 0 {
		more, _ := out["allOf"].([]any)
		out["allOf"] = append(all, more...)
	}
	return out, ok
}

func (p *plainSchema) exactAll(values []any, shape *document.Shape, at scope) ([]any, bool) {
	all := []any{}
	for _, value := range values {
		exact, ok := p.exact(value, shape, at)
		if !ok {
			return nil, false
		}
		all = append(all, exact)
	}
	return all, true
}

func isScalar(value any) bool {
	switch value.(type) {
	case []any, object:
		return false
	}
	return true
}

// exactMember returns the condition that a member meets a schema if it is stored, or
// with a nil schema, that it is stored.
func (p *plainSchema) exactMember(name string, value any, shape *document.Shape, at scope) (any, bool) {
	member := shape.Properties[name]
	if member == nil || member.ReadOnly || keyword.IsSupplied(member) || p.isSupplied(name, at) {
		return nil, false
	}
	// Null is an absent member, unless the schema has it among the types of a member in
	// an object.
	nullIsValue := at == inside && (len(member.Types) == 0 || member.Is("null"))
	if value == nil {
		switch {
		case member.HasDefault:
			return true, true
		case nullIsValue:
			return object{"required": []any{name}}, true
		}
		return object{"required": []any{name}, "properties": object{name: notNull}}, true
	}
	if accepts, is := value.(bool); is && accepts {
		return true, true
	}
	if member.Ref != nil || member.Time || member.Text != nil || member.Complete {
		return nil, false
	}
	exact, ok := p.exact(value, member, inside)
	switch {
	case !ok, nullIsValue && member.HasDefault:
		return nil, false
	case nullIsValue:
		return object{"properties": object{name: exact}}, true
	case !member.HasDefault:
		return object{"properties": object{name: object{"anyOf": []any{object{"type": "null"}, exact}}}}, true
	}
	meets, known := meets(value, member.Default)
	if meets {
		return object{"properties": object{name: object{"anyOf": []any{object{"type": "null"}, exact}}}}, known
	}
	return object{"required": []any{name}, "properties": object{name: object{"allOf": []any{notNull, exact}}}}, known
}

// meets reports whether a value meets a schema without references, if that can be
// compiled.
func meets(s, value any) (is, known bool) {
	text, err := json.Marshal(s)
	if err != nil {
		return false, false
	}
	compiled, err := jsonschema.CompileString("condition.json", string(text))
	if err != nil {
		return false, false
	}
	return compiled.Validate(value) == nil, true
}
