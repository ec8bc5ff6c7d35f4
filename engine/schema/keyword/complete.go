package keyword

import "marquee/engine/document"

var _ = Declare(Keyword{
	Name: "x-complete", Order: 70,
	Meta: `{
		"const": true,
		"description": "An object that is returned with every declared member, empty where nothing was set. What is empty is not stored."
	}`,
	On: Member | Item, Cure: "put it on a property or on the items of an array",
	Flag: func(shape *document.Shape) *bool { return &shape.Complete },
	Conflict: func(shape *document.Shape) (text, cure string) {
		if !shape.Is("object") {
			return "a value that is x-complete must be an object", `write "type": "object"`
		}
		return "", ""
	},
})
