package keyword

import (
	"context"
	"fmt"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
)

var propertyFrozen = message.Refusal("error.property.frozen", "{{field}} cannot change while the object is in its current state.")

var _ = Declare(Keyword{
	Name: "x-frozen", Order: 35,
	Meta: `{"$ref": "#/$defs/frozen"}`,
	Definitions: `{"frozen": {
		"description": "While the stored object matches when, no property but the excepted may change.",
		"type": "object",
		"required": ["code", "text", "when"],
		"additionalProperties": false,
		"properties": {
			"code": {
				"type": "string",
				"pattern": "^error(\\.[a-z0-9]+)+$",
				"maxLength": 128,
				"description": "Code of the fault, error.…"
			},
			"text": {
				"type": "string",
				"minLength": 1,
				"description": "Text of the fault; {{field}} is the property that would change."
			},
			"when": {
				"allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"$ref": "#/$defs/condition"}],
				"description": "What the stored object must match for its properties to be frozen."
			},
			"except": {
				"type": "array",
				"items": {"type": "string", "minLength": 1},
				"uniqueItems": true,
				"description": "Properties that may change all the same."
			}
		}
	}}`,
	Conditional: true,
	Rule: func(s Source) *Rule {
		when, except, frozen := s.Condition("/when"), Strings(s.Members["except"]), s.fault(propertyFrozen)
		return &Rule{
			Message: frozen,
			Check: func(ctx context.Context, c *Change) (faults []message.Message, err error) {
				if c.Before == nil {
					return nil, nil
				}
				if is, err := when(ctx, c.Before, c.StateBefore); !is {
					return nil, err
				}
				changes := document.Diff(c.Before, c.After)
				if c.State != c.StateBefore {
					changes = append(changes, document.FieldChange{Field: "objectState"})
				}
				fills := func(change document.FieldChange) bool {
					return c.fillsIn(change.Field, s.Root.Member(change.Field))
				}
				filled := slices.ContainsFunc(changes, fills) // and so the object can be shown again
				for _, change := range changes {
					if !slices.Contains(except, change.Field) && !fills(change) && !(filled && change.Field == "objectState") {
						faults = append(faults, fault(frozen, "/"+change.Field, nil)...)
					}
				}
				return faults, nil
			},
			Lint: func(t *Type, problem func(below, text, cure string)) {
				for i, name := range except {
					if t.Shape.Properties[name] == nil && !t.Common(name) && !t.Uncertain(name) {
						problem(fmt.Sprintf("/except/%d", i), "there is no property "+name, "name a property of the schema")
					}
				}
			},
			Show: func() Entry {
				return Entry{Code: frozen.Code, Text: frozen.Text, When: Indented(s.Members["when"]), Except: except}
			},
		}
	},
	Section: `<h2 id="frozen">Frozen objects</h2>
{{range .}}<p>An object that meets this condition cannot change (<a href="/docs/messages/{{.Code}}"><code>{{.Code}}</code></a>){{with .Except}}, except for {{range $i, $name := .}}{{if $i}}, {{end}}<code>{{$name}}</code>{{end}}{{end}}: “{{.Text}}”</p>
<pre>{{.When}}</pre>
{{end}}`,
})
