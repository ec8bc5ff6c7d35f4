package keyword

import (
	"slices"
	"strconv"

	"marquee/engine/document"
	"marquee/engine/message"
)

// Transitions is x-transitions: the values that may follow each value of a property.
var Transitions = Declare(Keyword{
	Name: "x-transitions", Order: 60,
	Meta: `{
		"type": "object",
		"minProperties": 1,
		"additionalProperties": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/step"}]}, "uniqueItems": true},
		"description": "For each value of the property, the values that may follow it. A new object may have any value, unless x-initial limits it.",
		"examples": [{"PENDING": ["PUBLISHED"], "PUBLISHED": [{"to": "PENDING", "permission": "WITHDRAW"}]}]
	}`,
	Definitions: `{"step": {
		"description": "A step to a value, and what it requires.",
		"type": "object",
		"required": ["to"],
		"additionalProperties": false,
		"properties": {
			"to": {"type": "string", "description": "The value that may follow."},
			"permission": {"$ref": "#/$defs/permission"},
			"rule": {
				"type": "string",
				"minLength": 1,
				"maxLength": 4096,
				"description": "A condition in CEL on self, oldSelf, now and caller, which are as in x-validations.",
				"examples": ["size(self.items) > 0"]
			}
		}
	},
	"permission": {
		"type": "string",
		"pattern": "^[A-Z][A-Z0-9_]{0,63}$",
		"description": "A permission that a role must hold. It is declared by its use.",
		"examples": ["APPROVE_ORDERS"]
	}}`,
	On: Property, Cure: "put it on a top-level property", Once: true,
	Read: func(shape *document.Shape, value any) {
		if following, ok := value.(map[string]any); ok {
			next := map[string][]Step{}
			for from, to := range following {
				next[from] = steps(to)
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
			listed := []string{from}
			for i, step := range to {
				listed = append(listed, step.To)
				if slices.Contains(listed[1:i+1], step.To) {
					v.Problem("/"+document.EscapeToken(from)+"/"+strconv.Itoa(i), step.To+" is listed twice", "combine what the steps require")
				}
			}
			for _, value := range listed {
				if !v.Type.hasValue(v.Name, value) {
					v.Problem("", value+" is not a value of the property", "name values of its enum")
				}
			}
		}
	},
	Parts: eachGuarded,
	Rule: func(s Source) *Rule {
		g := newGuard(s)
		return &Rule{Check: g.check, Reads: g.reads, Lint: g.lint, Notes: g.notes, Message: g.messages[0], Others: g.messages[1:]}
	},
	Permissions: func(value any) (names []string) {
		eachGuarded(value, func(_ string, step map[string]any) {
			if name, ok := step["permission"].(string); ok {
				names = append(names, name)
			}
		})
		return names
	},
	Check: func(p Guarded, c *Change) []message.Message {
		from, to, changed := c.of(p.Name)
		before, _ := from.(string)
		after, _ := to.(string)
		if !changed || slices.ContainsFunc(transitionsOf(p.Shape)[before], func(s Step) bool { return s.To == after }) {
			return nil
		}
		if first := initialOf(p.Shape); isLeft(p.Shape, before) && (first == nil || slices.Contains(first, after)) {
			return nil
		}
		if _, set := c.After[p.Name]; !set {
			to = "no value"
		}
		return fault(message.TransitionForbidden, "/"+p.Name, message.Params{"from": from, "to": to})
	},
	Faults: []*message.Definition{message.TransitionForbidden},
	Section: `<h2 id="transitions">Transitions</h2>
{{range .}}<p>The values that may follow each value of <code>{{.Path}}</code>{{with index .Shape.Keywords "x-initial"}}, which begins as {{range $i, $first := .}}{{if $i}} or {{end}}<code>{{$first}}</code>{{end}}{{else}}; a new object may have any value{{end}}:</p>
<ul>{{range $value, $following := index .Shape.Keywords "x-transitions"}}<li><code>{{$value}}</code>: {{range $i, $step := $following}}{{if $i}}, {{end}}<code>{{.To}}</code>{{with .Permission}} with the permission <code>{{.}}</code>{{end}}{{with .Rule}} if <code>{{.}}</code>{{end}}{{else}}none{{end}}</li>{{end}}</ul>
{{end}}`,
})

// isLeft reports whether x-transitions does not mention a value, which an earlier schema has
// allowed. Such a value may change to any that may be the first.
func isLeft(shape *document.Shape, value string) bool {
	next := transitionsOf(shape)
	_, mentioned := next[value]
	for _, steps := range next {
		mentioned = mentioned || slices.ContainsFunc(steps, func(s Step) bool { return s.To == value })
	}
	return !mentioned
}

func transitionsOf(shape *document.Shape) map[string][]Step {
	next, _ := shape.Keywords["x-transitions"].(map[string][]Step)
	return next
}
