package keyword

import "marquee/engine/message"

var immutable = message.Refusal("error.property.immutable", "{{field}} cannot change once it is set.")

// Immutable is x-immutable: a property that is set keeps its value.
var Immutable = Declare(Keyword{
	Name: "x-immutable", Order: 40,
	Meta: `{"const": true, "description": "The property cannot change once it is set."}`,
	On:   Property, Cure: "put it on a top-level property",
	Check: func(p Guarded, c *Change) []message.Message {
		switch _, _, changed := c.of(p.Name); {
		case changed && c.fillsIn(p.Name, p.Shape):
		case changed && p.Name == c.Parent:
			return fault(message.IDTaken, "/id", message.Params{"property": p.Name})
		case changed:
			return fault(immutable, "/"+p.Name, nil)
		}
		return nil
	},
	Faults: []*message.Definition{immutable},
	Note:   says("cannot change once set"),
	Table:  "Cannot change once set.",
})
