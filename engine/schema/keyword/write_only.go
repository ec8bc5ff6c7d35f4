package keyword

import "marquee/engine/document"

var _ = Declare(Keyword{
	Name: "writeOnly", Order: 20,
	Meta: `{"description": "true: accepted, never returned."}`,
	On:   Member, Cure: "put it on a property",
	Flag: func(shape *document.Shape) *bool { return &shape.WriteOnly },
	Conflict: func(shape *document.Shape) (text, cure string) {
		if shape.ReadOnly {
			return "a value cannot be both readOnly and writeOnly", "remove one of them"
		}
		return "", ""
	},
	Note:  says("never returned"),
	Table: "Never returned.",
})
