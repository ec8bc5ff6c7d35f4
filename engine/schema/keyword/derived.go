package keyword

import "marquee/engine/document"

var _ = Declare(Keyword{
	Name: "x-derived", Order: 50,
	Meta: `{"const": true, "description": "Found out, or completed, when an object is read: lists cannot ask for it."}`,
	On:   Property, Cure: "put it on a top-level property",
	Flag:  func(shape *document.Shape) *bool { return &shape.Derived },
	Note:  says("computed when the object is read"),
	Table: "Computed when the object is read; lists cannot filter by it.",
})
