package schema

import (
	"context"
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The cost of validation is bounded in three ways. The number of schemas that
// apply to one value is computed when the schema is loaded. The number for all
// values of an object is counted before the library validates it, as that cannot
// be interrupted. And accepts ends with its context.
const (
	// maxApplications is the maximum number of schemas that apply to one value.
	maxApplications = 10_000
	// maxPatternSize is the maximum number of instructions of a compiled pattern.
	maxPatternSize = 10_000
	// maxLibrarySteps is the maximum number of schemas that the library applies to
	// the values of an object.
	maxLibrarySteps = 1_000_000
	// maxExplained is the same for an invalid object, for which the library keeps
	// each error.
	maxExplained = 100_000
)

// errTooComplex means that the library would apply too many schemas.
var errTooComplex = errors.New("schema: validation of the object exceeds its limit of steps")

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

// costs computes the costs of schemas, each once.
type costs struct {
	applications map[*jsonschema.Schema]int
	// order has the computed schemas, each after those that it applies.
	order []*jsonschema.Schema
}

// of returns the number of schemas that a schema applies to one value, directly
// or not, at most maxApplications + 1.
func (c *costs) of(s *jsonschema.Schema) int {
	if n, known := c.applications[s]; known {
		return n
	}
	c.applications[s] = 0 // a schema that applies itself to the same value is rejected elsewhere
	n := 1
	inPlace(s, func(sub *jsonschema.Schema) { n = min(n+c.of(sub), maxApplications+1) })
	c.applications[s] = n
	c.order = append(c.order, s)
	below(s, func(sub *jsonschema.Schema) { c.of(sub) })
	return n
}

// checkCosts rejects schemas and patterns that would take too long.
func (l *loader) checkCosts(roots []*jsonschema.Schema) {
	c := costs{applications: map[*jsonschema.Schema]int{}}
	for _, root := range roots {
		if root != nil {
			c.of(root)
		}
	}
	for _, s := range c.order {
		at, known := l.locate(s)
		if !known || l.reported(at.f, at.pointer) {
			continue
		}
		// Reports the schema that is too costly, not those that apply it.
		causes := false
		inPlace(s, func(sub *jsonschema.Schema) { causes = causes || c.applications[sub] > maxApplications })
		if c.applications[s] > maxApplications && !causes {
			l.problem(at.f, at.pointer, "more than "+strconv.Itoa(maxApplications)+" schemas would be applied to one value",
				"use fewer references to schemas that refer to others: each $ref counts with all schemas that it leads to")
		}
		if s.Pattern != nil && patternSize(s.Pattern) > maxPatternSize {
			l.problem(at.f, at.pointer+"/pattern", "the pattern takes more than "+strconv.Itoa(maxPatternSize)+" steps per character", "use smaller repetition counts")
		}
		for pattern := range s.PatternProperties {
			if patternSize(pattern) > maxPatternSize {
				l.problem(at.f, at.pointer+"/patternProperties", "a pattern takes more than "+strconv.Itoa(maxPatternSize)+" steps per character", "use smaller repetition counts")
			}
		}
	}
}

// locate returns the file and the pointer of a compiled schema.
func (l *loader) locate(s *jsonschema.Schema) (location, bool) {
	base, fragment, _ := strings.Cut(s.Location, "#")
	f := l.files[base]
	return location{f, unescaped(fragment)}, f != nil
}

// patternSize returns the number of instructions of a compiled pattern, all of
// which may be executed for each character of a text.
func patternSize(pattern *regexp.Regexp) int {
	parsed, err := syntax.Parse(pattern.String(), syntax.Perl)
	if err != nil {
		return 0 // cannot happen: the pattern has been compiled
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return maxPatternSize + 1
	}
	return len(program.Inst)
}

// withinLibrary fails if the library would apply more than limit schemas.
func withinLibrary(ctx context.Context, s *jsonschema.Schema, v any, limit int) error {
	c := stepCount{ctx: ctx, left: limit}
	c.apply(s, v, 0)
	if c.err == nil && c.left <= 0 {
		return errTooComplex
	}
	return c.err
}

// stepCount counts the schemas that the library applies. It does not stop at the
// first error.
type stepCount struct {
	ctx  context.Context
	err  error
	left int
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
	inPlace(s, func(sub *jsonschema.Schema) { c.apply(sub, v, depth+1) })
	sub := func(sub *jsonschema.Schema, v any) {
		if sub != nil {
			c.apply(sub, v, depth+1)
		}
	}
	switch v := v.(type) {
	case string:
		if s.Pattern != nil {
			c.left -= len(v) / charactersPerStep
		}
	case map[string]any:
		additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
		for name, value := range v {
			sub(s.Properties[name], value)
			sub(s.PropertyNames, name)
			sub(additional, value)
			sub(s.UnevaluatedProperties, value)
			for pattern, matching := range s.PatternProperties {
				if c.left -= len(name) / charactersPerStep; pattern.MatchString(name) {
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

// charactersPerStep is the number of characters that are matched in the time of
// one step.
const charactersPerStep = 16

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
