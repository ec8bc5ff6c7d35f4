package keyword

import (
	"maps"
	"slices"
	"strings"

	"marquee/engine/document"
)

// x-was-values names values that an enum had before, each with the one that takes its place.
var _ = Declare(Keyword{
	Name: "x-was-values", Order: 63,
	Meta: `{
		"type": "object",
		"minProperties": 1, "maxProperties": 100,
		"additionalProperties": {"type": "string"},
		"description": "For values that the enum had before, the values that take their places, in stored objects and in requests.",
		"examples": [{"PAID": "SETTLED"}]
	}`,
	Beside: `{"required": ["enum"]}`,
	On:     Property | Nested, Cure: "put it on a property that is declared by name", Once: true,
	Read: func(shape *document.Shape, value any) {
		renamed, _ := value.(map[string]any)
		shape.Was = make(map[string]string, len(renamed))
		for from, to := range renamed {
			shape.Was[from], _ = to.(string)
		}
		was := shape.Was
		shape.Text = func(text string) string {
			if to, renamed := was[text]; renamed {
				return to
			}
			return text
		}
	},
	Adopt: func(shape, other *document.Shape) {
		if other.Was != nil {
			shape.Was = other.Was
		}
	},
	Has: func(shape *document.Shape) bool { return shape.Was != nil },
	Conflict: func(shape *document.Shape) (text, cure string) {
		if shape.Secret || shape.Ref != nil || shape.Formatted {
			return "only the values of an enum can be renamed", "remove x-was-values"
		}
		return stringsOnly("x-was-values")(shape)
	},
	Note: func(shape *document.Shape) []string {
		var notes []string
		for _, from := range slices.Sorted(maps.Keys(shape.Was)) {
			notes = append(notes, from+" is read as "+shape.Was[from])
		}
		return []string{strings.Join(notes, ", ")}
	},
})
