package keyword

import "marquee/engine/document"

var _ = Declare(Keyword{
	Name: "default", Order: Standard + 10,
	Meta: `{"description": "Applied when an object is created, or when the property is set to null."}`,
	On:   Property | Nested, Cure: "put it on a property that is declared by name: only that can be absent",
	Read: func(shape *document.Shape, value any) { shape.Default, shape.HasDefault = value, true },
	Adopt: func(shape, other *document.Shape) {
		if other.HasDefault && !shape.HasDefault {
			shape.Default, shape.HasDefault = other.Default, true
		}
	},
	Has:    func(shape *document.Shape) bool { return shape.HasDefault },
	Sample: func(shape *document.Shape) (any, bool) { return shape.Default, true },
	Note: func(shape *document.Shape) []string {
		return []string{"default " + string(document.Append(nil, shape.Default))}
	},
})
