package validation

import (
	"context"
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The cost of validation is bounded in three ways. The number of schemas that
// apply to one value is computed when the schema is loaded. The number for all
// values of an object is counted before the library validates it, as that cannot
// be interrupted. And Accepts ends with its context.
const (
	// MaxApplications is the maximum number of schemas that apply to one value.
	MaxApplications = 10_000
	// MaxPatternSize is the maximum number of instructions of a compiled pattern.
	MaxPatternSize = 10_000
	// MaxSteps is the maximum number of schemas that the library applies to
	// the values of an object.
	MaxSteps = 1_000_000
	// maxExplained is the same for an invalid object, for which the library keeps
	// each error: the text of a long one counts as more steps.
	maxExplained = 100_000
)

// ErrTooComplex reports that the library would apply too many schemas.
var ErrTooComplex = errors.New("validation: the validation of the object exceeds its limit of steps")

// inPlace calls visit for each schema that a schema applies to the same value.
func inPlace(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	for _, one := range []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.DynamicRef, s.Not, s.If, s.Then, s.Else} {
		if one != nil {
			visit(one)
		}
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, one := range list {
			visit(one)
		}
	}
	for _, one := range s.DependentSchemas {
		visit(one)
	}
}

// below calls visit for each schema that a schema applies to members, their
// names, or items.
func below(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	for _, one := range s.Properties {
		visit(one)
	}
	for _, one := range s.PatternProperties {
		visit(one)
	}
	for _, one := range s.PrefixItems {
		visit(one)
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for _, one := range []*jsonschema.Schema{additional, s.PropertyNames, s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems} {
		if one != nil {
			visit(one)
		}
	}
}

// Costs are the costs of schemas, each computed once.
type Costs struct {
	applications map[*jsonschema.Schema]int
	order        []*jsonschema.Schema
}

// CostsOf computes the costs of schemas and of all that they apply; nil schemas are left out.
func CostsOf(roots []*jsonschema.Schema) *Costs {
	c := &Costs{applications: map[*jsonschema.Schema]int{}}
	for _, root := range roots {
		if root != nil {
			c.of(root)
		}
	}
	return c
}

// of returns the number of schemas that a schema applies to one value, directly
// or not, at most MaxApplications + 1.
func (c *Costs) of(s *jsonschema.Schema) int {
	if n, known := c.applications[s]; known {
		return n
	}
	c.applications[s] = 0 // a schema that applies itself to the same value is rejected elsewhere
	n := 1
	inPlace(s, func(sub *jsonschema.Schema) { n = min(n+c.of(sub), MaxApplications+1) })
	c.applications[s] = n
	c.order = append(c.order, s)
	below(s, func(sub *jsonschema.Schema) { c.of(sub) })
	return n
}

// Schemas returns the schemas, each after those that it applies.
func (c *Costs) Schemas() []*jsonschema.Schema { return c.order }

// Excessive reports whether a schema applies more than MaxApplications schemas to one
// value, and none of those that it applies does.
func (c *Costs) Excessive(s *jsonschema.Schema) bool {
	caused := false
	inPlace(s, func(sub *jsonschema.Schema) { caused = caused || c.applications[sub] > MaxApplications })
	return c.applications[s] > MaxApplications && !caused
}

// PatternSize returns the number of instructions of a compiled pattern, all of
// which may be executed for each character of a text.
func PatternSize(pattern *regexp.Regexp) int {
	parsed, err := syntax.Parse(pattern.String(), syntax.Perl)
	if err != nil {
		return 0 // cannot happen: the pattern has been compiled
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return MaxPatternSize + 1
	}
	return len(program.Inst)
}

// Within returns ErrTooComplex if the library would apply more than MaxSteps schemas to a
// value and those in it, or the error of the context.
func Within(ctx context.Context, s *jsonschema.Schema, v any) error {
	return withinLibrary(ctx, s, v, MaxSteps)
}

// withinLibrary fails if the library would apply more than limit schemas.
func withinLibrary(ctx context.Context, s *jsonschema.Schema, v any, limit int) error {
	return (&stepCount{ctx: ctx, left: limit}).within(s, v)
}

// explainable fails if the errors of a value would take more than maxExplained steps.
func explainable(ctx context.Context, s *jsonschema.Schema, v any) error {
	return (&stepCount{ctx: ctx, left: maxExplained, texts: map[*jsonschema.Schema]int{}}).within(s, v)
}

func (c *stepCount) within(s *jsonschema.Schema, v any) error {
	c.apply(s, v, 0)
	if c.err == nil && c.left <= 0 {
		return ErrTooComplex
	}
	return c.err
}

// stepCount counts the schemas that the library applies. It does not stop at the
// first error.
type stepCount struct {
	ctx  context.Context
	err  error
	left int
	// texts are the steps for the text of an error of each schema, by the length of the text;
	// nil counts none.
	texts map[*jsonschema.Schema]int
}

func (c *stepCount) apply(s *jsonschema.Schema, v any, depth int) {
	if c.left--; c.left%lookEvery == 0 && c.err == nil {
		c.err = c.ctx.Err()
	}
	if depth > maxAcceptance {
		c.left = 0
	}
	if c.left <= 0 || c.err != nil {
		return
	}
	if c.texts != nil {
		c.left -= c.textOf(s, v)
	}
	inPlace(s, func(sub *jsonschema.Schema) { c.apply(sub, v, depth+1) })
	sub := func(sub *jsonschema.Schema, v any) {
		if sub != nil {
			c.apply(sub, v, depth+1)
		}
	}
	switch v := v.(type) {
	case string:
		if s.Pattern != nil {
			c.left -= stepsOf(s.Pattern, v)
		}
	case map[string]any:
		additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
		for name, value := range v {
			sub(s.Properties[name], value)
			sub(s.PropertyNames, name)
			sub(additional, value)
			sub(s.UnevaluatedProperties, value)
			for pattern, matching := range s.PatternProperties {
				if c.left -= stepsOf(pattern, name); c.left > 0 && pattern.MatchString(name) {
					sub(matching, value)
				}
			}
		}
	case []any:
		for i, item := range v {
			if i < len(s.PrefixItems) {
				sub(s.PrefixItems[i], item)
			} else {
				sub(s.Items2020, item)
			}
			sub(s.Contains, item)
			sub(s.UnevaluatedItems, item)
		}
	}
}

// bytesPerStep is the size of the text of an error that counts as a step.
const bytesPerStep = 1 << 10

// textOf returns the steps for the text that the library makes for each value which a schema
// refuses: it names all values of an enum.
func (c *stepCount) textOf(s *jsonschema.Schema, v any) int {
	if text, is := v.(string); is && slices.Contains(s.Enum, any(text)) {
		return 0
	}
	steps, known := c.texts[s]
	if !known {
		size := 0
		for _, value := range slices.Concat(s.Enum, s.Constant) {
			text, _ := value.(string)
			size += len(text) + 4
		}
		for _, name := range s.Required {
			size += len(name)
		}
		if s.Pattern != nil {
			size += len(s.Pattern.String())
		}
		steps = size / bytesPerStep
		c.texts[s] = steps
	}
	return steps
}

const (
	// charactersPerStep is the number of characters that are matched by a small pattern in the
	// time of one step, and instructionsPerStep the number of instructions of a large one.
	charactersPerStep   = 16
	instructionsPerStep = 256
)

// sizes has the PatternSize of each pattern of the schemas that were loaded, by its text.
var sizes sync.Map

// stepsOf returns the steps that it takes to match a text.
func stepsOf(pattern *regexp.Regexp, text string) int {
	size, known := sizes.Load(pattern.String())
	if !known {
		size, _ = sizes.LoadOrStore(pattern.String(), PatternSize(pattern))
	}
	return max(len(text)/charactersPerStep, len(text)*size.(int)/instructionsPerStep)
}

// matches reports whether a text matches a pattern. Matching a long text ends with
// the context.
func (a *acceptance) matches(pattern *regexp.Regexp, text string) bool {
	if len(text) <= lookEvery {
		return pattern.MatchString(text)
	}
	r := &watchedText{a: a, text: text}
	return pattern.MatchReader(r)
}

// watchedText reads a text until the context ends.
type watchedText struct {
	a    *acceptance
	text string
	read int
}

// ReadRune implements io.RuneReader.
func (w *watchedText) ReadRune() (rune, int, error) {
	if w.read++; w.read%(lookEvery/8) == 0 && w.a.err == nil {
		w.a.err = w.a.ctx.Err()
	}
	if w.text == "" || w.a.err != nil {
		return 0, 0, io.EOF
	}
	r, size := utf8.DecodeRuneInString(w.text)
	w.text = w.text[size:]
	return r, size, nil
}
