package keyword

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/rule"
)

var (
	ruleTooComplex  = message.Refusal("error.rule.too.complex", "The rule of {{code}} takes more than {{limit}} steps for the object.")
	rulesTooComplex = message.Refusal("error.rules.too.complex", "The rules take more than {{limit}} steps for the objects of this call: send fewer objects at once.")
)

// Validations is x-validations: rules in CEL that objects meet.
var Validations = Declare(Keyword{
	Name: "x-validations", Order: 67,
	Meta: `{
		"type": "array",
		"items": {"$ref": "#/$defs/validation"},
		"minItems": 1,
		"maxItems": 100,
		"description": "Rules in CEL (cel.dev) that the object must meet when it is created, and whenever something that they read changes."
	}`,
	Definitions: `{"validation": {
		"description": "A rule, with the fault of an object that breaks it.",
		"type": "object",
		"required": ["rule", "text", "code"],
		"additionalProperties": false,
		"properties": {
			"rule": {
				"type": "string",
				"minLength": 1,
				"maxLength": 4096,
				"description": "A condition in CEL on self, oldSelf, now and caller.",
				"examples": ["!has(self.end) || self.begin < self.end"]
			},
			"text": {"type": "string", "minLength": 1, "description": "Text of the fault."},
			"code": {
				"type": "string",
				"pattern": "^error(\\.[a-z0-9]+)+$",
				"maxLength": 128,
				"description": "Code of the fault, error.…"
			},
			"field": {
				"type": "string",
				"pattern": "^(/([^~/]|~[01])+)+$",
				"description": "JSON Pointer, below the object, to what the fault names; if it is missing, the object itself."
			},
			"on": {
				"type": "array",
				"items": {"enum": ["create", "update"]},
				"minItems": 1,
				"uniqueItems": true,
				"description": "The writes that the rule applies to; both if it is missing."
			}
		}
	}}`,
	On: Root | Member | Item, Cure: "put it on an object",
	Conflict: func(shape *document.Shape) (text, cure string) {
		if shape.Ref != nil {
			return "of a reference, only the id is stored, and rules cannot read other objects", "put the rule on the object around it"
		}
		return "", ""
	},
	Rule: func(s Source) *Rule {
		v := newValidation(s)
		return &Rule{
			Message: v.broken,
			Check:   v.check,
			Reads:   func(path document.Pointer) bool { return v.reads(s.Root, path) },
			Lint:    v.lint,
			Notes:   v.notes,
			Show: func() Entry {
				return Entry{Path: v.place, Code: v.broken.Code, Text: v.broken.Text, When: v.source, Except: v.on}
			},
		}
	},
	Faults: []*message.Definition{ruleTooComplex, rulesTooComplex},
	Section: `<h2 id="rules">Rules</h2>
<p>An object must meet these rules in <a href="https://cel.dev">CEL</a> when it is created, and whenever something that they read changes:</p>
<dl>{{range .}}<dt><a href="/docs/messages/{{.Code}}"><code>{{.Code}}</code></a>{{with .Path}} for <code>{{.}}</code>{{end}}{{with .Except}}, on {{range $i, $on := .}}{{if $i}} and {{end}}{{$on}}{{end}} only{{end}}</dt><dd>{{.Text}}<pre>{{.When}}</pre></dd>{{end}}</dl>
`,
})

// validation is a rule of x-validations.
type validation struct {
	source, field string
	on            []string
	broken        *message.Definition
	compiled      *rule.Rule
	problems      []rule.Problem
	// of is the shape of the objects, and way leads to them, nil for the root. Place
	// describes it.
	of    *document.Shape
	way   *way
	place string
}

func newValidation(s Source) *validation {
	v := &validation{of: s.Of, on: Strings(s.Members["on"])}
	v.source, _ = s.Members["rule"].(string)
	v.field, _ = s.Members["field"].(string)
	v.broken = s.fault(message.ValueExcluded)
	items := false
	if s.Of != s.Root {
		v.way = wayTo(s.Root, s.Of)
		v.place, items = v.way.describe(s.Root)
	}
	v.compiled, v.problems = s.Types.Compile(s.Of, v.source, !items)
	return v
}

func (v *validation) lint(t *Type, problem func(below, text, cure string)) {
	if v.compiled != nil && v.compiled.ReadsOld() && slices.Contains(v.on, "create") {
		problem("/on", "a new object has no oldSelf, which the rule reads", "leave create out")
	}
	for _, name := range v.broken.Placeholders() {
		if name != "field" && name != "type" {
			problem("/text", "the fault has no {{"+name+"}}", "write {{field}} for the place, and nothing else in braces")
		}
	}
	if v.field != "" && !v.declares(v.field) {
		problem("/field", "there is no property "+v.field+" here", "name a property of the object by a JSON Pointer")
	}
}

// notes returns the mistakes in the text of the rule, and a hint if a keyword says the same.
func (v *validation) notes(t *Type) (notes []Note) {
	if v.compiled == nil {
		return notesOf(v.problems)
	}
	notes = undeclared(t, v.compiled)
	if v.compiled.IsConstant() {
		notes = append(notes, Note{Below: "/rule", Text: "the rule says the same of all objects", Cure: "name a property of self", Hint: true})
	}
	if simpler, is := v.compiled.Simpler(); is && !slices.Equal(v.on, []string{"create"}) {
		cure := map[string]string{
			"x-compare":   fmt.Sprintf(`"x-compare": [{"left": %q, "op": %q, "right": %q}]`, simpler.Left, simpler.Op, simpler.Right),
			"x-immutable": fmt.Sprintf(`"x-immutable": true at %s`, simpler.Left),
			"x-frozen":    `"x-frozen" with the condition as a schema in "when"`,
		}[simpler.Keyword]
		if simpler.Keyword != "x-compare" || len(v.on) != 1 {
			notes = append(notes, Note{Below: "/rule", Text: simpler.Keyword + " says the same", Cure: cure, Hint: true})
		}
	}
	return notes
}

// notesOf returns the mistakes in the text of a rule in CEL. One of the whole rule is at its
// beginning.
func notesOf(problems []rule.Problem) (notes []Note) {
	for _, p := range problems {
		notes = append(notes, Note{Below: "/rule", Line: max(p.Line, 1), Column: max(p.Column, 1), Text: p.Text, Cure: p.Cure})
	}
	return notes
}

// undeclared returns the permissions in the text of a rule that nobody can hold.
func undeclared(t *Type, r *rule.Rule) (notes []Note) {
	for _, p := range r.Permissions() {
		if !t.declares(p.Name) {
			notes = append(notes, Note{Below: "/rule", Line: p.Line, Column: p.Column, Text: "nobody can hold the permission " + p.Name,
				Cure: "correct the name, or declare it in x-resource.permissions, x-transitions or x-readable of some type"})
		}
	}
	return notes
}

// declares reports whether objects can have a value at a pointer.
func (v *validation) declares(pointer string) bool {
	shape := v.of
	for _, token := range strings.Split(pointer, "/")[1:] {
		if shape.Element != nil && shape.Is("array") {
			shape = shape.Element
			continue
		}
		if shape = shape.Member(document.UnescapeToken(token)); shape == nil {
			return false
		}
	}
	return true
}

// reads reports whether the rule reads the property at a path of names below the root of its
// type, or its objects are within that.
func (v *validation) reads(shape *document.Shape, path document.Pointer) bool {
	for i, name := range path {
		if shape == v.of && v.compiled != nil && v.compiled.Reads(path[i:].String()) {
			return true
		}
		if shape = shape.Properties[name]; shape == nil {
			return false
		}
	}
	return v.way != nil && v.way.leads(shape)
}

// check returns the faults of the objects of a change that the rule applies to.
func (v *validation) check(ctx context.Context, c *Change) (faults []message.Message, err error) {
	created := c.Before == nil
	if v.compiled == nil || created && v.compiled.ReadsOld() || len(v.on) == 1 && created != (v.on[0] == "create") {
		return nil, nil
	}
	if v.way == nil {
		return v.judge(ctx, c, c.ruleInput(), nil)
	}
	in := &rule.Input{Now: c.Now, Caller: c.Caller, Budget: c.Budget}
	var stored map[string]bool
	err = v.way.objects(c.After, c.Before, func(self, old map[string]any, at document.Pointer, item bool) error {
		if item && !created {
			if stored == nil {
				stored = v.stored(c.Before)
			}
			if stored[v.compiled.Key(self)] {
				return nil
			}
		}
		in.Set(self, old)
		found, err := v.judge(ctx, c, in, at)
		if faults = append(faults, found...); len(faults) >= message.MaxFaults || slices.ContainsFunc(found, tooComplex) {
			return errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return faults, err
}

// tooComplex reports whether a rule was stopped. Each other object could take it as long.
func tooComplex(fault message.Message) bool {
	return fault.Definition() == ruleTooComplex || fault.Definition() == rulesTooComplex
}

// errEnough ends a walk when there are as many faults as are listed, or one that ends it.
var errEnough = errors.New("enough faults")

// stored returns the keys of the items that an object had before.
func (v *validation) stored(before map[string]any) map[string]bool {
	keys := map[string]bool{}
	_ = v.way.objects(before, nil, func(self, _ map[string]any, _ document.Pointer, item bool) error {
		if item {
			keys[v.compiled.Key(self)] = true
		}
		return nil
	})
	return keys
}

// judge returns the fault of an object at a pointer, if the rule applies to it.
func (v *validation) judge(ctx context.Context, c *Change, in *rule.Input, at document.Pointer) ([]message.Message, error) {
	if in.OldSelf == nil && v.compiled.ReadsOld() || in.OldSelf != nil && !v.compiled.Touched(in) {
		return nil, nil
	}
	for _, pointer := range c.Faulty { // what they say of it would be confusing
		below, within := strings.CutPrefix(pointer+"/", at.String()+"/")
		if within && v.compiled.Reads(strings.TrimSuffix("/"+below, "/")) || strings.HasPrefix(at.String()+"/", pointer+"/") {
			return nil, nil
		}
	}
	if in.OldSelf != nil && v.compiled.ReadsOld() && slices.ContainsFunc(c.Lacked, func(pointer string) bool {
		below, within := strings.CutPrefix(pointer, at.String())
		return within && v.compiled.Reads(below)
	}) {
		return nil, nil // nobody can fill in what an erasure has removed otherwise
	}
	holds, err := v.compiled.Holds(ctx, in)
	switch {
	case err != nil:
		return stopped(err, v.broken.Code, at.String())
	case holds:
		return nil, nil
	}
	return fault(v.broken, at.String()+v.field, nil), nil
}

// stopped returns the fault of an object at a place for which the rule of a code was stopped,
// or the error if it was another one.
func stopped(err error, code, at string) ([]message.Message, error) {
	switch {
	case errors.Is(err, rule.ErrTooComplex):
		return fault(ruleTooComplex, at, message.Params{"code": code, "limit": rule.MaxCost}), nil
	case errors.Is(err, rule.ErrExhausted):
		return fault(rulesTooComplex, at, message.Params{"limit": rule.MaxCallCost}), nil
	}
	return nil, err
}
