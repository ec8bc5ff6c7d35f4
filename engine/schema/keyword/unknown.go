package keyword

import "marquee/engine/document"

var _ = Declare(Keyword{
	Name: "x-unknown", Order: 90,
	Meta: `{
		"const": "refuse",
		"description": "Unknown members of the value, and of the objects within it, are refused unless the request has the parameter fieldValidation."
	}`,
	On: Member | Item, Cure: "put it on a property or on the items of an array",
	Flag: func(shape *document.Shape) *bool { return &shape.RefusesUnknown },
	Read: func(shape *document.Shape, value any) {
		shape.RefusesUnknown = shape.RefusesUnknown || value == "refuse"
	},
	Conflict: func(shape *document.Shape) (text, cure string) {
		if !shape.HasMembers() && !shape.Is("array") {
			return "a value whose unknown members are refused must be an object or an array", `write "type": "object"`
		}
		return "", ""
	},
})
