package keyword

import (
	"slices"
	"strings"

	"marquee/engine/document"
)

var _ = Declare(Keyword{
	Name: "x-secret", Order: 30,
	Meta: `{
		"type": "boolean",
		"description": "true: a string that is encrypted at rest, shown only to holders of the write permission, and never filtered, logged or audited. false: a string that is none of this, whatever it was before."
	}`,
	Beside: `{"required": ["type"], "properties": {"type": {"const": "string"}}}`,
	On:     Member, Cure: "make each secret a property of its own",
	Flag: func(shape *document.Shape) *bool { return &shape.Secret },
	Read: func(shape *document.Shape, value any) {
		if secret, ok := value.(bool); ok {
			shape.Secret, shape.Exposed = secret, !secret
		}
	},
	Adopt: func(shape, other *document.Shape) {
		shape.Secret, shape.Exposed = shape.Secret || other.Secret, shape.Exposed || other.Exposed
	},
	Conflict: func(shape *document.Shape) (text, cure string) {
		switch {
		case shape.Ref != nil:
			return "a reference cannot be secret", "remove x-ref or x-secret"
		case slices.ContainsFunc(shape.Types, func(name string) bool { return name != "string" && name != "null" }):
			return "a secret must be a string, and this value can be of type " + strings.Join(shape.Types, " or "), "allow only strings"
		}
		return "", ""
	},
	Note:  says("secret: encrypted in the store, returned to those who may write the type"),
	Table: "Secret: encrypted in the store.",
})
