package keyword

import (
	"marquee/engine/document"
	"marquee/engine/message"
)

var _ = Declare(Keyword{
	Name: "x-lookup", Order: 80,
	Meta: `{
		"enum": ["locations"],
		"description": "An object whose id, an integer, is looked up in a list of the service: one that is not there is refused, and the properties that the list has for it are returned."
	}`,
	On: Member | Item, Cure: "put it on a property or on the items of an array", Once: true,
	Read: func(shape *document.Shape, value any) { shape.Lookup, _ = value.(string) },
	Adopt: func(shape, other *document.Shape) {
		if other.Lookup != "" {
			shape.Lookup = other.Lookup
		}
	},
	Has: func(shape *document.Shape) bool { return shape.Lookup != "" },
	Conflict: func(shape *document.Shape) (text, cure string) {
		if shape.Properties["id"] == nil {
			return "the object has no property id to look up", "declare id, an integer"
		}
		return "", ""
	},
	Faults: []*message.Definition{message.ReferencedObjectNotFound},
})
