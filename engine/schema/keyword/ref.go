package keyword

import (
	"fmt"
	"maps"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
)

var _ = Declare(Keyword{
	Name: "x-ref", Order: Standard + 20,
	Meta:   `{"$ref": "#/$defs/reference"}`,
	Beside: `{"properties": {"type": {"enum": ["string", "object"]}, "items": false}}`,
	Definitions: `{"reference": {
		"description": "The type that is referred to. On an array, it is written on the items.",
		"anyOf": [
			{"type": "string", "pattern": "^[a-z0-9]+$", "maxLength": 64, "description": "The type, by its path."},
			{
				"type": "object",
				"required": ["type"],
				"additionalProperties": false,
				"properties": {
					"type": {"type": "string", "pattern": "^[a-z0-9]+$", "maxLength": 64, "description": "The type, by its path."},
					"where": {
						"type": "object",
						"minProperties": 1,
						"additionalProperties": {"type": "string"},
						"description": "What must hold of the target: properties that hold text, each x-immutable there, and their values.",
						"examples": [{"type": "TARGETING"}]
					},
					"network": {
						"type": "string",
						"minLength": 1,
						"description": "The nearest enclosing sibling property that names the network of the target."
					},
					"form": {
						"enum": ["id", "object"],
						"default": "id",
						"description": "object: only an object with an id refers to something; a string is not a reference."
					}
				}
			}
		],
		"examples": [
			"orders",
			{"type": "rulesets", "where": {"type": "TARGETING"}},
			{"type": "roles", "network": "network"}
		]
	}}`,
	On: Member | Item, Cure: "put it on a property or on the items of an array", Once: true,
	Read: readRef,
	Adopt: func(shape, other *document.Shape) {
		if other.Ref != nil {
			shape.Ref = other.Ref
		}
	},
	Has:    func(shape *document.Shape) bool { return shape.Ref != nil },
	Lint:   lintRef,
	Faults: []*message.Definition{message.ReferencedObjectNotFound, message.ReferenceMalformed, message.ReferenceMismatch},
	Note: func(shape *document.Shape) (list []string) {
		for _, name := range slices.Sorted(maps.Keys(shape.Ref.Where)) {
			list = append(list, fmt.Sprintf("the target must have %s = %s", name, shape.Ref.Where[name]))
		}
		return list
	},
})

func readRef(shape *document.Shape, value any) {
	switch ref := value.(type) {
	case string:
		shape.Ref = &document.Reference{Type: ref}
	case map[string]any:
		shape.Ref = &document.Reference{Object: ref["form"] == "object"}
		shape.Ref.Type, _ = ref["type"].(string)
		shape.Ref.Network, _ = ref["network"].(string)
		if where, ok := ref["where"].(map[string]any); ok {
			shape.Ref.Where = map[string]string{}
			for name, value := range where {
				shape.Ref.Where[name], _ = value.(string)
			}
		}
	}
}

// lintRef checks that a reference leads to a type, and that the conditions for its
// target cannot change there.
func lintRef(v Value) {
	ref := v.Shape.Ref
	target, certain := v.Type.Other(ref.Type)
	if target == nil {
		if certain {
			v.Problem("", "there is no type "+ref.Type, "name the path of a type")
		}
		return
	}
	const scope = "/x-resource/scope"
	if v.Type.Global && !target.Global && ref.Network == "" && !v.Type.Omitted(scope) && !target.Omitted(scope) {
		v.Problem("", v.Type.Name+" is global and must specify the network of "+ref.Type, `add "network"`)
	}
	if target.Removable && ref.Network != "" {
		v.Problem("/network", "objects of "+ref.Type+" can be removed, and are therefore referred to only in their own network", "leave DELETE out of its methods")
	}
	for name, value := range ref.Where {
		below, property := "/where/"+document.EscapeToken(name), target.Shape.Properties[name]
		switch {
		case target.Uncertain(name):
		case property == nil || !Immutable.Has(property):
			v.Problem(below, "the condition on "+ref.Type+" could change: "+name+" is not x-immutable there", "make it x-immutable")
		case !target.hasValue(name, value):
			v.Problem(below, value+" is not a value of "+name+" of "+ref.Type, "name a value of its enum")
		case len(Was(property)) > 0:
			v.Problem(below, name+" of "+ref.Type+" is stored under another name (x-was), which conditions cannot use", "keep the name in "+ref.Type)
		case property.Readable != "":
			v.Problem(below, name+" of "+ref.Type+" is x-readable, and a reference would show its value", "remove the condition")
		}
	}
}

// Strings returns the texts of a value that is one or an array of them.
func Strings(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		return document.Strings(v)
	}
	return nil
}
