package keyword

import (
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
)

var notInitial = message.Refusal("error.value.not.initial", "{{field}} must first be one of {{allowed}}.")

// Initial is x-initial: the values that a property begins with, at the creation of an
// object or when a property without a value gets one. An import is exempt, as it brings
// objects that have begun elsewhere.
var Initial = Declare(Keyword{
	Name: "x-initial", Order: 61,
	Meta: `{
		"type": "array",
		"minItems": 1,
		"items": {"type": "string"},
		"uniqueItems": true,
		"description": "The values that the property can begin with: at the creation of an object, or when a property without a value gets one.",
		"examples": [["NEW"]]
	}`,
	On: Property, Cure: "put it on a top-level property", Once: true,
	Read: func(shape *document.Shape, value any) { set(shape, "x-initial", Strings(value)) },
	Conflict: func(shape *document.Shape) (text, cure string) {
		if IsSupplied(shape) {
			return "a value that the service supplies to new objects is not chosen from a list", "remove x-initial"
		}
		return stringsOnly("x-initial")(shape)
	},
	Lint: func(v Value) {
		allowed := initialOf(v.Shape)
		for _, value := range allowed {
			if !v.Type.hasValue(v.Name, value) {
				v.Problem("", value+" is not a value of the property", "name values of its enum")
			}
		}
		if text, is := v.Shape.Default.(string); is && !slices.Contains(allowed, text) {
			v.Problem("", "the default "+text+" is not among the first values", "add it, or change the default")
		}
	},
	Check: func(p Guarded, c *Change) []message.Message {
		_, was := c.Before[p.Name]
		value, is := c.After[p.Name]
		text, _ := value.(string)
		allowed := initialOf(p.Shape)
		if was || !is || c.System || c.isUnreadable(p.Name) || slices.Contains(allowed, text) {
			return nil
		}
		return fault(notInitial, "/"+p.Name, message.Params{"allowed": strings.Join(allowed, ", ")})
	},
	Faults: []*message.Definition{notInitial},
	Note: func(shape *document.Shape) []string {
		return []string{"begins as " + strings.Join(initialOf(shape), " or ")}
	},
})

func initialOf(shape *document.Shape) []string {
	values, _ := shape.Keywords["x-initial"].([]string)
	return values
}

// stringsOnly refuses a keyword on a value that need not be a string.
func stringsOnly(name string) func(*document.Shape) (text, cure string) {
	return func(shape *document.Shape) (text, cure string) {
		other := func(kind string) bool { return kind != "string" && kind != "null" }
		if !shape.Is("string") || slices.ContainsFunc(shape.Types, other) {
			return "a value that is " + name + " must be a string", `write "type": "string"`
		}
		return "", ""
	}
}
