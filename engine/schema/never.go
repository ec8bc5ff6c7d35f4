package schema

import (
	"fmt"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema/keyword"
)

// conditions checks that the conditions of rules can hold, as far as the values of single
// properties say.
func (c *typeLint) conditions() {
	for _, rule := range c.t.Rules {
		members, _ := document.Lookup(c.files[rule.File].Content, rule.At).(map[string]any)
		c.canHold(rule.At+"/when", members["when"])
	}
	for _, e := range uniqueEntries(c.t.Source) {
		c.canHold(e.at+"/when", e.when)
	}
	c.canHold(publicAt+"/when", publicWhen(c.t.Source))
}

// canHold reports a property that a condition requires to have a value which the type
// excludes. If the property need not be set, that is a hint: the condition then holds for
// objects without it.
func (c *typeLint) canHold(at string, when any) {
	members, _ := when.(map[string]any)
	properties, _ := members["properties"].(map[string]any)
	required := slices.Concat(keyword.Strings(members["required"]), c.t.Shape.Required)
	for name, schema := range properties {
		wanted, limited := constants(schema)
		kinds, allowed := c.values(name)
		if !limited || c.uncertain(name) || slices.ContainsFunc(wanted, func(value any) bool {
			return (allowed == nil || slices.ContainsFunc(allowed, func(other any) bool { return document.Equal(value, other) })) && isOf(value, kinds)
		}) {
			continue
		}
		below := "/properties/" + document.EscapeToken(name)
		cure := "name values that the property can have"
		if allowed != nil {
			cure = "name one of " + texts(allowed)
		}
		shape := c.t.Shape.Properties[name]
		if name == "objectState" || slices.Contains(required, name) || shape != nil && shape.HasDefault {
			c.problem(at+below, "the condition never holds: "+name+" cannot have this value", cure)
		} else {
			c.l.note(c.f, at, keyword.Note{Below: below, Text: "the condition holds only for objects without " + name + ", which cannot have this value", Cure: cure, Hint: true})
		}
	}
}

// constants returns the values of const or enum of a schema, false if it has neither.
func constants(schema any) (values []any, limited bool) {
	members, _ := schema.(map[string]any)
	if value, is := members["const"]; is {
		return []any{value}, true
	}
	values, limited = members["enum"].([]any)
	return values, limited
}

// values returns the JSON types of the values that a top-level property can have, and the
// values themselves if they are listed; nil stands for any.
func (c *typeLint) values(name string) (kinds []string, allowed []any) {
	if field, common := commonFields[name]; common && c.t.Shape.Properties[name] == nil {
		return nil, field.Allowed
	}
	shape := c.t.Shape.Properties[name]
	if shape == nil {
		return nil, nil
	}
	return shape.Kinds(), c.t.allowed(query.Field{Path: []query.Step{{Name: name}}})
}

// isOf reports whether a value is of one of the JSON types that Kinds lists, nil for any.
func isOf(value any, kinds []string) bool {
	kind := "null"
	switch value.(type) {
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case int64, float64:
		kind = "number"
	case []any:
		kind = "array"
	case map[string]any:
		kind = "object"
	}
	return kinds == nil || slices.Contains(kinds, kind)
}

func texts(values []any) string {
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = strings.TrimSpace(fmt.Sprint(value))
	}
	return strings.Join(list, ", ")
}
