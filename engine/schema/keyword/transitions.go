package keyword

import (
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
)

// Transitions is x-transitions: the values that may follow each value of a property.
var Transitions = Declare(Keyword{
	Name: "x-transitions", Order: 60,
	Meta: `{
		"type": "object",
		"minProperties": 1,
		"additionalProperties": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
		"description": "For each value of the property, the values that may follow it. A new object may have any value, unless x-initial limits it.",
		"examples": [{"PENDING": ["PUBLISHED"], "PUBLISHED": []}]
	}`,
	On: Property, Cure: "put it on a top-level property", Once: true,
	Read: func(shape *document.Shape, value any) {
		if following, ok := value.(map[string]any); ok {
			next := map[string][]string{}
			for from, to := range following {
				next[from] = Strings(to)
			}
			set(shape, "x-transitions", next)
		}
	},
	Conflict: func(shape *document.Shape) (text, cure string) {
		if Immutable.Has(shape) {
			return "a value that is x-immutable has no transitions", "remove one of them"
		}
		return "", ""
	},
	Lint: func(v Value) {
		for from, to := range transitionsOf(v.Shape) {
			for _, value := range append([]string{from}, to...) {
				if !v.Type.hasValue(v.Name, value) {
					v.Problem("", value+" is not a value of the property", "name values of its enum")
				}
			}
		}
	},
	Check: func(p Guarded, c *Change) []message.Message {
		from, to, changed := c.of(p.Name)
		before, _ := from.(string)
		after, _ := to.(string)
		if !changed || slices.Contains(transitionsOf(p.Shape)[before], after) {
			return nil
		}
		if _, set := c.After[p.Name]; !set {
			to = "null"
		}
		return fault(message.TransitionForbidden, "/"+p.Name, message.Params{"from": from, "to": to})
	},
	Faults: []*message.Definition{message.TransitionForbidden},
	Section: `<h2 id="transitions">Transitions</h2>
{{range .}}<p>The values that may follow each value of <code>{{.Path}}</code>{{with index .Shape.Keywords "x-initial"}}, which begins as {{range $i, $first := .}}{{if $i}} or {{end}}<code>{{$first}}</code>{{end}}{{else}}; a new object may have any value{{end}}:</p>
<ul>{{range $value, $following := index .Shape.Keywords "x-transitions"}}<li><code>{{$value}}</code>: {{range $i, $to := $following}}{{if $i}}, {{end}}<code>{{$to}}</code>{{else}}none{{end}}</li>{{end}}</ul>
{{end}}`,
})

func transitionsOf(shape *document.Shape) map[string][]string {
	next, _ := shape.Keywords["x-transitions"].(map[string][]string)
	return next
}
