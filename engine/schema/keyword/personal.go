package keyword

import "marquee/engine/document"

// x-personal marks what an erasure removes of an object, of its history and of all that
// is derived from it.
var _ = Declare(Keyword{
	Name: "x-personal", Order: 45,
	Meta: `{"const": true, "description": "The value is about a person: an erasure of the object removes it, also from the history."}`,
	On:   Member, Cure: "put it on a property",
	Flag: func(shape *document.Shape) *bool { return &shape.Personal },
	Conflict: func(shape *document.Shape) (text, cure string) {
		switch {
		case shape.Ref != nil:
			return "an erasure keeps ids, and so references", "put x-personal on the properties of the other type"
		case shape.Derived:
			return "a value that is x-derived is not stored", "put x-personal on what it is computed from"
		case IsNumbered(shape):
			return "a number of x-sequence identifies the object, as its id does, and would never be given again", "remove one of them"
		}
		return "", ""
	},
	Note:  says("personal: removed by an erasure"),
	Table: "Personal: an erasure of the object removes it.",
})
