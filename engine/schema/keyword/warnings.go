package keyword

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"marquee/engine/message"
)

var _ = Declare(Keyword{
	Name: "x-warnings", Order: Standard + 30,
	Meta: `{
		"type": "array",
		"items": {"$ref": "#/$defs/warning"},
		"description": "Warnings that are stored with an object while it matches their condition."
	}`,
	Definitions: `{
		"warning": {
			"description": "A warning that is stored with the object, as a ValidationWarningMessage.",
			"type": "object",
			"required": ["code", "text", "when"],
			"additionalProperties": false,
			"properties": {
				"code": {
					"type": "string",
					"pattern": "^warning(\\.[a-z0-9]+)+$",
					"maxLength": 128,
					"description": "Code of the warning, warning.…"
				},
				"text": {"type": "string", "minLength": 1, "description": "Text of the warning."},
				"field": {
					"type": "string",
					"pattern": "^(/([^~/]|~[01])*)*$",
					"description": "JSON Pointer to what the warning is about."
				},
				"when": {
					"allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"$ref": "#/$defs/condition"}],
					"description": "What the stored object must match for the warning."
				},
				"unless": {
					"type": "array",
					"items": {"$ref": "#/$defs/relation"},
					"minItems": 1,
					"description": "Relations that keep the warning away while all of them hold. One does not hold while a property of it is not set.",
					"examples": [[{"left": ["count", "price"], "op": "<=", "right": "budget"}]]
				}
			}
		},
		"relation": {
			"description": "left op right, on numbers and times.",
			"type": "object",
			"required": ["left", "op", "right"],
			"additionalProperties": false,
			"properties": {
				"left": {"$ref": "#/$defs/side"},
				"op": {"enum": ["<", "<=", ">", ">=", "="], "description": "What must hold between them."},
				"right": {"$ref": "#/$defs/side"}
			}
		},
		"side": {
			"description": "A property, or several numbers whose product counts.",
			"anyOf": [
				{"type": "string", "minLength": 1},
				{"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 2}
			]
		}
	}`,
	Conditional: true,
	Rule: func(s Source) *Rule {
		code, _ := s.Members["code"].(string)
		text, _ := s.Members["text"].(string)
		params := message.Params{}
		if field, ok := s.Members["field"].(string); ok {
			params["field"] = field
		}
		var unless []Relation
		entries, _ := s.Members["unless"].([]any)
		for _, entry := range entries {
			members, _ := entry.(map[string]any)
			unless = append(unless, relationOf(members))
		}
		warning, when := s.Declare(message.TypeWarning, code, text), s.Condition("/when")
		return &Rule{
			Message: warning, Warning: warning.With(params),
			Warns: func(ctx context.Context, object map[string]any, state string) (bool, error) {
				fails := func(r Relation) bool {
					holds, _ := r.Holds(object)
					return !holds
				}
				is, err := when(ctx, object, state)
				return is && (len(unless) == 0 || slices.ContainsFunc(unless, fails)), err
			},
			Lint: func(t *Type, problem func(below, text, cure string)) {
				for i, r := range unless {
					r.lint(t, "unless", func(below, text, cure string) { problem(fmt.Sprintf("/unless/%d%s", i, below), text, cure) })
				}
			},
			Show: func() Entry {
				rest := maps.Clone(s.Members)
				delete(rest, "code")
				delete(rest, "text")
				return Entry{Code: code, Text: text, When: Indented(rest)}
			},
		}
	},
	Section: `<h2 id="warnings">Warnings</h2>
<p>An object has these warnings in <code>validationWarnings</code> as long as it meets their conditions:</p>
<dl>{{range .}}<dt><a href="/docs/messages/{{.Code}}"><code>{{.Code}}</code></a></dt><dd>{{.Text}}<pre>{{.When}}</pre></dd>{{end}}</dl>
`,
})
