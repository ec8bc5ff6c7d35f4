package keyword

import "marquee/engine/document"

var _ = Declare(Keyword{
	Name: "readOnly", Order: 10,
	Meta: `{"description": "true: what a client sends is ignored."}`,
	On:   Member, Cure: "put it on a property",
	Flag:  func(shape *document.Shape) *bool { return &shape.ReadOnly },
	Note:  says("read-only"),
	Table: "Read-only.",
})
