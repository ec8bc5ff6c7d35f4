package keyword

import (
	"marquee/engine/document"
	"marquee/engine/message"
)

// Unseen is the fault of a write that breaks a rule about a value which the caller does not
// see. It says nothing else of the rule or the value.
var Unseen = message.Refusal("error.value.unseen", "A value that the caller does not see does not allow this. Ask somebody who sees all of the object.")

// x-readable names the permission with which a value is read: for callers without it, the
// property does not exist.
var Readable = Declare(Keyword{
	Name: "x-readable", Order: 35,
	Meta: `{
		"type": "string",
		"pattern": "^[A-Z][A-Z0-9_]{0,63}$",
		"description": "The permission with which the value is read. For others, the property does not exist.",
		"examples": ["READ_DIAGNOSES"]
	}`,
	On: Property | Nested, Cure: "put it on a property of the object, or of an object within it",
	Read: func(shape *document.Shape, value any) {
		shape.Readable, _ = value.(string)
	},
	Adopt: func(shape, other *document.Shape) {
		if other.Readable != "" {
			shape.Readable = other.Readable
		}
	},
	Has:  func(shape *document.Shape) bool { return shape.Readable != "" },
	Once: true,
	Conflict: func(shape *document.Shape) (text, cure string) {
		switch {
		case shape.WriteOnly:
			return "a value that is writeOnly is never returned", "remove one of them"
		case shape.Derived:
			return "a value that is x-derived is computed from others, which decide who reads them", "put x-readable on what it is computed from"
		}
		return "", ""
	},
	Permissions: func(value any) []string {
		name, _ := value.(string)
		return []string{name}
	},
	Lint: func(v Value) {
		namesPermission(v.Shape.Readable, func(text, cure string) { v.Problem("", text, cure) })
	},
	Faults: []*message.Definition{Unseen},
	Note:   func(shape *document.Shape) []string { return []string{"read with the permission " + shape.Readable} },
	Table:  "Read with a permission of its own.",
})
