package openapi

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// exampler makes examples of the schemas of a document.
type exampler struct {
	schemas object
	// resources are the components of what types return.
	resources map[string]bool
	// within are the components that are being made.
	within []string
}

// exemplify gives each response with JSON that has no example one of its schema, and the
// components that are such schemas theirs.
func (b *builder) exemplify(whole object) {
	components := whole["components"].(object)
	e := &exampler{schemas: components["schemas"].(object), resources: map[string]bool{}}
	for _, t := range b.types.Types() {
		e.resources[b.components.named[location{file: typeFile(t)}]] = true
	}
	each := func(responses any) {
		all, _ := responses.(object)
		for _, response := range all {
			content, _ := response.(object)["content"].(object)
			for mediaType, value := range content {
				if body := value.(object); strings.HasSuffix(mediaType, "json") && body["example"] == nil && body["examples"] == nil {
					e.exemplify(body)
				}
			}
		}
	}
	each(components["responses"])
	for _, item := range whole["paths"].(object) {
		for _, value := range item.(object) {
			operation, _ := value.(object)
			each(operation["responses"])
		}
	}
}

// exemplify adds an example to the content of a response, or to the component that is its
// schema.
func (e *exampler) exemplify(body object) {
	s, _ := body["schema"].(object)
	value, ok := e.of(s)
	ref, _ := s["$ref"].(string)
	shared, named := e.schemas[ref[strings.LastIndexByte(ref, '/')+1:]].(object)
	switch {
	case !ok:
	case !named:
		body["example"] = value
	case shared["examples"] == nil:
		shared["examples"] = []any{value}
	}
}

// of returns a value that a schema accepts, unless that cannot be known.
func (e *exampler) of(schema any) (any, bool) {
	s, _ := schema.(object)
	if examples, _ := s["examples"].([]any); len(examples) > 0 {
		return examples[0], true
	}
	for _, keyword := range []string{"const", "default"} {
		if value, given := s[keyword]; given {
			return value, true
		}
	}
	if values, _ := s["enum"].([]any); len(values) > 0 {
		return values[0], true
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(s)), unknown) {
		return nil, false
	}
	if ref, _ := s["$ref"].(string); ref != "" {
		return e.component(ref[strings.LastIndexByte(ref, '/')+1:])
	}
	if branches, _ := s["anyOf"].([]any); len(branches) > 0 {
		return e.of(branches[0])
	}
	if parts, _ := s["allOf"].([]any); len(parts) > 0 {
		return e.all(parts)
	}
	return e.typed(s)
}

// unknown reports whether it is not known what a keyword demands of an example.
func unknown(keyword string) bool {
	return !strings.HasPrefix(keyword, "x-") && !slices.Contains(annotations, keyword) && !slices.Contains(exemplified, keyword)
}

// exemplified are the keywords that examples observe, or that say nothing of them.
var exemplified = []string{"$ref", "type", "enum", "const", "anyOf", "allOf", "properties", "required", "additionalProperties",
	"items", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}

func (e *exampler) component(name string) (any, bool) {
	if slices.Contains(e.within, name) {
		return nil, false
	}
	if e.resources[name] && len(e.within) > 0 { // as a list has it with fields=id
		return object{"id": "spring"}, true
	}
	e.within = append(e.within, name)
	defer func() { e.within = e.within[:len(e.within)-1] }()
	return e.of(e.schemas[name])
}

// all returns an object with the members of examples of some schemas.
func (e *exampler) all(parts []any) (any, bool) {
	out := object{}
	for _, part := range parts {
		value, _ := e.of(part)
		members, is := value.(object)
		if !is {
			return nil, false
		}
		maps.Copy(out, members)
	}
	return out, true
}

// typed returns a value of the first type of a schema.
func (e *exampler) typed(s object) (any, bool) {
	name, _ := s["type"].(string)
	if several, _ := s["type"].([]any); len(several) > 0 {
		name, _ = several[0].(string)
	}
	if name == "" && s["properties"] != nil {
		name = "object"
	}
	switch name {
	case "object":
		return e.members(s)
	case "array":
		item, ok := e.of(s["items"])
		if most, limited := number(s, "maxItems"); !ok || limited && most == 0 {
			return []any{}, s["minItems"] == nil
		}
		least, _ := number(s, "minItems")
		return []any{item}, least <= 1
	case "string":
		return text(s)
	case "integer", "number":
		return quantity(s)
	case "boolean":
		return true, true
	}
	return nil, false
}

// members returns an object with the properties of which there are examples.
func (e *exampler) members(s object) (any, bool) {
	out := object{}
	properties, _ := s["properties"].(object)
	for name, member := range properties {
		if value, ok := e.of(member); ok {
			out[name] = value
		}
	}
	required, _ := s["required"].([]any)
	return out, !slices.ContainsFunc(required, func(name any) bool { return out[name.(string)] == nil })
}

// texts are examples of strings by their format.
var texts = map[string]string{"": "text", "date-time": "2026-03-01T09:00:00Z", "date": "2026-03-01", "email": "ada@example.com", "uri": "https://example.com/",
	"uri-reference": "/docs", "hostname": "example.com", "duration": "P1D", "local-date-time": "2026-03-01T09:00:00",
	"any-date-time": "2026-03-01T09:00:00+01:00", "time-zone": "Europe/Berlin",
	"country": "DE", "currency": "EUR", "language": "de"}

func text(s object) (any, bool) {
	format, _ := s["format"].(string)
	value, known := texts[format]
	least, _ := number(s, "minLength")
	if format == "" && least > 4 && least <= 100 {
		value = strings.Repeat("x", int(least))
	}
	most, limited := number(s, "maxLength")
	if format == "" && limited && most < float64(len(value)) {
		value = value[:int(most)]
	}
	length := float64(len(value))
	return value, known && length >= least && (!limited || length <= most)
}

// quantity returns the first of some numbers that a schema accepts.
func quantity(s object) (any, bool) {
	least, bounded := number(s, "minimum")
	candidates := []float64{1, 10, 100, 0}
	if bounded {
		candidates = append(candidates, least)
	}
	for _, n := range candidates {
		most, limited := number(s, "maximum")
		above, open := number(s, "exclusiveMinimum")
		below, closed := number(s, "exclusiveMaximum")
		step, stepped := number(s, "multipleOf")
		if (!bounded || n >= least) && (!limited || n <= most) && (!open || n > above) && (!closed || n < below) && (!stepped || math.Mod(n, step) == 0) {
			return n, s["type"] != "integer" || n == math.Trunc(n)
		}
	}
	return nil, false
}

// number returns the number of a keyword.
func number(s object, keyword string) (float64, bool) {
	n, err := strconv.ParseFloat(fmt.Sprint(s[keyword]), 64)
	return n, err == nil
}
