package keyword

import (
	"context"
	"slices"

	"marquee/engine/message"
)

// IntervalOverlaps is the fault of an object whose interval overlaps that of another one.
// The parameter id names the other object if the caller sees it.
var IntervalOverlaps = message.Refusal("error.interval.overlaps", "The interval that begins at {{field}} and ends at {{other}} overlaps that of another object.")

// x-exclusive is what PostgreSQL calls an exclusion constraint. The write path checks that
// intervals do not overlap (ClaimRule), and Check that they are not empty.
var _ = Declare(Keyword{
	Name: "x-exclusive", Order: 67,
	Meta: `{
		"type": "array",
		"items": {"$ref": "#/$defs/exclusion"},
		"maxItems": 10,
		"description": "Intervals that do not overlap: of two objects with the same values."
	}`,
	Definitions: `{"exclusion": {
		"description": "Of the objects that match when and have the same values in properties, no two have intervals that overlap. An interval contains its beginning and not its end.",
		"type": "object",
		"required": ["properties", "from", "to"],
		"additionalProperties": false,
		"properties": {
			"properties": {
				"type": "array",
				"items": {"type": "string", "minLength": 1},
				"minItems": 1,
				"maxItems": 8,
				"uniqueItems": true,
				"description": "The properties. An object that lacks one of them is not compared."
			},
			"from": {"type": "string", "minLength": 1, "description": "The property with the beginning of the interval: a number, a date or a date-time. If it is not set, the interval has no beginning."},
			"to": {"type": "string", "minLength": 1, "description": "The property with the end of the interval. If it is not set, the interval has no end."},
			"when": {
				"allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"$ref": "#/$defs/condition"}],
				"description": "What a stored object must match to be compared. It names the properties that it reads, and has no $ref."
			}
		}
	}}`,
	Conditional: true,
	Rule: func(s Source) *Rule {
		var when any
		var meets Condition
		if when = s.Members["when"]; when != nil {
			meets = s.Condition("/when")
		}
		rule := NewClaimRule(Strings(s.Members["properties"]), when, meets)
		rule.From, _ = s.Members["from"].(string)
		rule.To, _ = s.Members["to"].(string)
		r := &Rule{
			Message: IntervalOverlaps, Claim: rule,
			Lint: func(t *Type, problem func(below, text, cure string)) { rule.lintInterval(t, problem) },
			Show: func() Entry {
				return Entry{Code: IntervalOverlaps.Code, Properties: rule.Properties, From: rule.From, To: rule.To, When: rule.Condition()}
			},
		}
		if !compares(s.Content, rule.From, rule.To) {
			r.Check = rule.checkInterval
		}
		return r
	},
	Faults: []*message.Definition{IntervalOverlaps, message.ValueOrder},
	Section: `<h2 id="intervals">Intervals that do not overlap</h2>
<p>Of the objects with the same values, no two have intervals that overlap (<a href="/docs/messages/error.interval.overlaps"><code>error.interval.overlaps</code></a>). An interval contains its beginning and not its end; one that is not set is open:</p>
<ul>{{range .}}<li>{{range $i, $name := .Properties}}{{if $i}}, {{end}}<code>{{$name}}</code>{{end}} from <code>{{.From}}</code> to <code>{{.To}}</code>{{with .When}}, among the objects that meet this condition: <pre>{{.}}</pre>{{end}}</li>{{end}}</ul>
`,
})

// compares reports whether x-compare requires that one property is less than another.
func compares(content map[string]any, from, to string) bool {
	rules, _ := content["x-compare"].([]any)
	return slices.ContainsFunc(rules, func(rule any) bool {
		members, _ := rule.(map[string]any)
		r := relationOf(members)
		return slices.Equal(r.Left, []string{from}) && r.Op == "<" && slices.Equal(r.Right, []string{to}) ||
			slices.Equal(r.Left, []string{to}) && r.Op == ">" && slices.Equal(r.Right, []string{from})
	})
}

// checkInterval refuses an interval that ends before it begins, or when it does.
func (r *ClaimRule) checkInterval(ctx context.Context, c *Change) ([]message.Message, error) {
	if c.isUnreadable(r.From) || c.isUnreadable(r.To) {
		return nil, nil
	}
	empty, err := r.isEmpty(ctx, c.After, c.State)
	if !empty {
		return nil, err
	}
	return fault(message.ValueOrder, "/"+r.From, message.Params{"relation": relations["<"], "other": "/" + r.To}), nil
}

// lintInterval checks that the ends of an interval are of one kind that has an order.
func (r *ClaimRule) lintInterval(t *Type, problem func(below, text, cure string)) {
	if r.From == r.To && r.From != "" {
		problem("/to", "the interval would be empty", "name another property than from")
		return
	}
	from, to := t.end("/from", r.From, problem), t.end("/to", r.To, problem)
	if from != "" && to != "" && from != to {
		problem("", r.From+" is a "+from+", and "+r.To+" a "+to, "name properties of one kind")
	}
}

// end returns the kind of an end of an interval, or "" after a problem.
func (t *Type) end(below, name string, problem func(below, text, cure string)) string {
	if name == "" || t.Uncertain(name) { // which has been reported
		return ""
	}
	member := t.Shape.Properties[name]
	const cure = "name a top-level property that is a number, or a string with the format date or date-time"
	switch {
	case member == nil:
		problem(below, "there is no property "+name, cure)
	case member.HoldsHidden():
		problem(below, name+" is not stored in plain text", cure)
	case member.HasPersonal:
		problem(below, name+" is x-personal, and without it, the interval of an erased object would be open", "remove one of them")
	case slices.Equal(member.Kinds(), []string{"number"}):
		return "number"
	case slices.Equal(member.Kinds(), []string{"string"}) && member.Ref == nil && (member.Format == "date-time" || member.Format == "date"):
		return member.Format
	default:
		problem(below, name+" is neither a number nor a date nor a date-time", cure)
	}
	return ""
}
