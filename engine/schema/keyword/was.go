package keyword

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
)

// NamesDiffer is the fault of an object with different values under two names of one property.
var NamesDiffer = message.Refusal("error.property.names.differ", "{{field}} and {{other}} are names of the same property: send one of them, or the same value.")

// x-was lists the former names of a property, the first one first. The values stay stored
// under that one.
var _ = Declare(Keyword{
	Name: was, Order: 30,
	Meta: `{
		"type": ["string", "array"],
		"minLength": 1, "maxLength": 1024,
		"items": {"type": "string", "minLength": 1, "maxLength": 1024},
		"minItems": 1,
		"maxItems": 10,
		"uniqueItems": true,
		"description": "The former name of the property, or all of them, the first one first. Values stay stored under that one, and requests can use each.",
		"examples": ["fullName", ["name", "fullName"]]
	}`,
	On: Property, Cure: "put it on a top-level property", Once: true,
	Lint:   lintWas,
	Faults: []*message.Definition{NamesDiffer},
	Note: func(shape *document.Shape) (list []string) {
		for _, name := range Was(shape) {
			list = append(list, "was called "+name)
		}
		return list
	},
})

const was = "x-was"

// Was returns the former names of a property, the first one first. It is the name under which
// the property is stored.
func Was(shape *document.Shape) []string {
	if shape == nil {
		return nil
	}
	return Strings(shape.Keywords[was])
}

// lintWas checks that the former names of a property cannot be taken for other members.
func lintWas(v Value) {
	t := v.Type.Shape
	if v.Name == "url" {
		v.Problem("", "url is also the name of a common field, which would be shown beside it", "choose another name")
	}
	nested, named := false, false // as a member of an object within the one at the root, and by a reference
	for shape := range t.All() {
		nested = nested || shape != t && shape.Children(func(child *document.Shape) bool { return child == v.Shape })
		named = named || shape.Ref != nil && shape.Ref.Network == v.Name
	}
	if nested {
		v.Problem("", "the schema also describes members of nested objects, which cannot be renamed", "write the schema of the nested objects out in $defs")
	}
	if named {
		v.Problem("", "a reference names "+v.Name+" as the property with the network of its target", "keep the name")
	}
	if open := t.Extra != nil || slices.ContainsFunc(t.Patterns, func(p *regexp.Regexp) bool { return p.MatchString(v.Name) }); open {
		v.Problem("", "objects can have undeclared members, and one could be called "+v.Name+" already", "declare the members by name, or use a new property")
	}
	resource, _ := v.Type.Source["x-resource"].(map[string]any)
	names := Was(v.Shape)
	for i, name := range names {
		if name == v.Name && i < len(names)-1 {
			continue // a later rename was taken back
		}
		below := ""
		if _, several := v.Shape.Keywords[was].([]any); several {
			below = fmt.Sprint("/", i)
		}
		if text, cure := wrongName(v, name, resource["idProperty"]); text != "" {
			v.Problem(below, text, cure)
		}
	}
}

// wrongName returns why a property cannot have had a name, or "".
func wrongName(v Value, name string, idProperty any) (text, cure string) {
	t := v.Type.Shape
	switch {
	case name == v.Name:
		return "the property has this name now", "remove it"
	case !document.PlainName(name):
		return "a property name consists of letters, digits, _ and -", "name a property of an earlier schema"
	case v.Type.Common(name) || any(name) == idProperty:
		return name + " is a common field, and no property", "name a property of an earlier schema"
	case t.Properties[name] != nil && slices.Contains(Was(t.Properties[name]), v.Name):
		return v.Name + " and " + name + " each had the name of the other, so that their values cannot be told apart", "give one of them a new name"
	case t.Properties[name] != nil:
		return "the property " + name + " is declared, so that its values cannot be those of " + v.Name, "give one of them a new name"
	}
	for _, other := range slices.Sorted(maps.Keys(t.Properties)) {
		if other < v.Name && slices.Contains(Was(t.Properties[other]), name) {
			return other + " was called " + name + ", too", "name it at one of them"
		}
	}
	return "", ""
}
