package keyword

import (
	"context"
	"slices"
	"strings"

	"marquee/engine/message"
)

var _ = Declare(Keyword{
	Name: "x-compare", Order: 65,
	Meta: `{
		"type": "array",
		"items": {"$ref": "#/$defs/comparison"},
		"description": "Comparisons of two properties, checked when both are set."
	}`,
	Definitions: `{"comparison": {
		"description": "left op right, on numbers and times.",
		"type": "object",
		"required": ["left", "op", "right"],
		"additionalProperties": false,
		"properties": {
			"left": {"type": "string", "minLength": 1, "description": "The property on the left, which a fault names."},
			"op": {"enum": ["<", "<=", ">", ">="], "description": "What must hold between them."},
			"right": {"type": "string", "minLength": 1, "description": "The property on the right."},
			"code": {
				"type": "string",
				"pattern": "^error(\\.[a-z0-9]+)+$",
				"maxLength": 128,
				"description": "Code of the fault, error.…"
			},
			"text": {"type": "string", "minLength": 1, "description": "Text of the fault."}
		}
	}}`,
	Rule: func(s Source) *Rule {
		r, disorder := relationOf(s.Members), s.fault(message.ValueOrder)
		return &Rule{
			Message: disorder,
			Check: func(_ context.Context, c *Change) ([]message.Message, error) {
				if slices.ContainsFunc(slices.Concat(r.Left, r.Right), c.isUnreadable) {
					return nil, nil
				}
				if holds, known := r.Holds(c.After); holds || !known {
					return nil, nil
				}
				faults := fault(disorder, "/"+r.Left[0], message.Params{"relation": relations[r.Op], "other": "/" + r.Right[0]})
				if c.keeps(slices.Concat(r.Left, r.Right)...) {
					c.Kept = append(c.Kept, faults...)
					return nil, nil
				}
				return faults, nil
			},
			Lint: func(t *Type, problem func(below, text, cure string)) { r.lint(t, "x-compare", problem) },
			Show: func() Entry {
				return Entry{Code: disorder.Code, Text: strings.Join(r.Left, ".") + " " + r.Op + " " + strings.Join(r.Right, ".")}
			},
		}
	},
	Section: `<h2 id="comparisons">Comparisons</h2>
<p>If both values are set, these must hold:</p>
<ul>{{range .}}<li><code>{{.Text}}</code> (<a href="/docs/messages/{{.Code}}"><code>{{.Code}}</code></a>)</li>{{end}}</ul>
`,
})

// relations are the texts of comparison operators in messages.
var relations = map[string]string{"<": "less than", "<=": "at most", ">": "greater than", ">=": "at least"}
