package keyword

import "marquee/engine/document"

// The engine checks uniqueItems itself, wherever it describes a value.
var _ = Declare(Keyword{
	Name: "uniqueItems", Order: Standard - 1,
	On:   Root | Member | Item,
	Flag: func(shape *document.Shape) *bool { return &shape.UniqueItems },
	Note: says("no duplicates"),
})
