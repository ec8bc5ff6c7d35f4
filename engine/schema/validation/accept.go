package validation

import (
	"cmp"
	"context"
	"math"
	"math/big"
	"reflect"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Accepts reports whether a value is valid. It evaluates the schemas that the
// library has compiled without recording paths and errors, which makes it ten
// times as fast, and leaves keywords that it does not know to the library. The
// error is that of the context, or ErrTooComplex if the library would take too
// long.
func Accepts(ctx context.Context, s *jsonschema.Schema, v any) (bool, error) {
	a := acceptance{ctx: ctx}
	valid := a.valid(s, v)
	switch {
	case a.err != nil:
		return false, a.err
	case !a.unknown:
		return valid, nil
	}
	if err := withinLibrary(ctx, s, v, MaxSteps); err != nil {
		return false, err
	}
	return s.Validate(v) == nil, nil
}

// acceptance is one evaluation. Its results are invalid after an unknown keyword
// or an error.
type acceptance struct {
	ctx     context.Context
	err     error
	unknown bool
	depth   int
	steps   int
	// known caches results for objects and arrays after many steps: a schema that
	// applies itself twice to each member would double the steps at each level.
	known map[application]bool
}

// application is a schema and the object or array to which it is applied.
type application struct {
	schema *jsonschema.Schema
	value  unsafe.Pointer
}

const (
	// lookEvery is the number of steps between two checks of the context.
	lookEvery = 1 << 12
	// rememberFrom is the number of steps after which results are cached: for most
	// values, caching takes longer than evaluating them again.
	rememberFrom = 1 << 18
)

// maxAcceptance is the maximum depth of schemas that apply schemas: it stops one
// that applies itself to the same value.
const maxAcceptance = 1000

func (a *acceptance) valid(s *jsonschema.Schema, v any) bool {
	a.depth++
	defer func() { a.depth-- }()
	if a.steps++; a.steps%lookEvery == 0 && a.err == nil {
		a.err = a.ctx.Err()
	}
	a.unknown = a.unknown || a.depth > maxAcceptance || !isKnown(s)
	switch {
	case a.unknown || a.err != nil:
		return false
	case s.Always != nil:
		return *s.Always
	case a.steps > rememberFrom:
		return a.remembered(s, v)
	}
	return a.decide(s, v)
}

func (a *acceptance) decide(s *jsonschema.Schema, v any) bool {
	return a.typed(s.Types, v) && a.listed(s, v) && a.formed(s, v) && a.whole(s, v) && a.applied(s, v)
}

// remembered evaluates a schema for each object and array once.
func (a *acceptance) remembered(s *jsonschema.Schema, v any) bool {
	of := application{schema: s}
	switch v := v.(type) {
	case map[string]any:
		of.value = reflect.ValueOf(v).UnsafePointer()
	case []any:
		if len(v) > 0 {
			of.value = unsafe.Pointer(unsafe.SliceData(v)) // #nosec G103 -- the address is only compared
		}
	}
	if of.value == nil {
		return a.decide(s, v)
	}
	if valid, known := a.known[of]; known {
		return valid
	}
	valid := a.decide(s, v)
	if a.known == nil {
		a.known = map[application]bool{}
	}
	a.known[of] = valid
	return valid
}

// isKnown reports whether a schema has no keyword that is left to the library.
func isKnown(s *jsonschema.Schema) bool {
	return s.RecursiveRef == nil && s.DynamicRef == nil && s.UnevaluatedItems == nil && s.UnevaluatedProperties == nil &&
		s.Contains == nil && s.Items == nil && s.AdditionalItems == nil && !s.RegexProperties && s.MultipleOf == nil &&
		len(s.Dependencies) == 0 && len(s.Extensions) == 0 && s.ContentMediaType == "" && s.ContentEncoding == ""
}

func (a *acceptance) typed(types []string, v any) bool {
	if len(types) == 0 {
		return true
	}
	var name string
	switch v := v.(type) {
	case nil:
		name = "null"
	case bool:
		name = "boolean"
	case string:
		name = "string"
	case int64:
		return slices.Contains(types, "number") || slices.Contains(types, "integer")
	case float64:
		name = "number"
		if v == math.Trunc(v) && slices.Contains(types, "integer") {
			return true
		}
	case map[string]any:
		name = "object"
	case []any:
		name = "array"
	default:
		a.unknown = true
	}
	return slices.Contains(types, name)
}

// listed checks const and enum.
func (a *acceptance) listed(s *jsonschema.Schema, v any) bool {
	same := func(item any) bool {
		switch item.(type) {
		case nil, bool, string:
			return v == item
		}
		a.unknown = true
		return false
	}
	return (len(s.Constant) == 0 || same(s.Constant[0])) && (len(s.Enum) == 0 || slices.ContainsFunc(s.Enum, same))
}

func (a *acceptance) formed(s *jsonschema.Schema, v any) bool {
	if s.Format == "" {
		return true
	}
	format, known := Formats[s.Format]
	if !known {
		format, known = jsonschema.Formats[s.Format]
	}
	a.unknown = a.unknown || !known
	return known && format(v)
}

// whole checks the keywords for the type of the value.
func (a *acceptance) whole(s *jsonschema.Schema, v any) bool {
	switch v := v.(type) {
	case string:
		if s.MinLength >= 0 || s.MaxLength >= 0 {
			if n := utf8.RuneCountInString(v); n < s.MinLength || s.MaxLength >= 0 && n > s.MaxLength {
				return false
			}
		}
		return s.Pattern == nil || a.matches(s.Pattern, v)
	case int64, float64:
		return a.compare(v, s.Minimum) >= 0 && a.compare(v, s.Maximum) <= 0 &&
			(s.ExclusiveMinimum == nil || a.compare(v, s.ExclusiveMinimum) > 0) &&
			(s.ExclusiveMaximum == nil || a.compare(v, s.ExclusiveMaximum) < 0)
	case map[string]any:
		return a.object(s, v)
	case []any:
		if len(v) < s.MinItems || s.MaxItems >= 0 && len(v) > s.MaxItems || s.UniqueItems && !a.distinct(v) {
			return false
		}
		for i, item := range v {
			sub := s.Items2020
			if i < len(s.PrefixItems) {
				sub = s.PrefixItems[i]
			}
			if sub != nil && !a.valid(sub, item) {
				return false
			}
		}
	}
	return true
}

// distinct reports whether all items differ. Items other than strings are left to the library.
func (a *acceptance) distinct(items []any) bool {
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		text, is := item.(string)
		if a.unknown = a.unknown || !is; seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}

// compare compares a number with a bound; it returns 0 if there is none.
func (a *acceptance) compare(v any, bound *big.Rat) int {
	if bound == nil {
		return 0
	}
	if n, whole := v.(int64); whole && bound.IsInt() && bound.Num().IsInt64() {
		return cmp.Compare(n, bound.Num().Int64())
	}
	b, exact := bound.Float64()
	n, float := v.(float64)
	a.unknown = a.unknown || !exact || !float
	return cmp.Compare(n, b)
}

func (a *acceptance) object(s *jsonschema.Schema, v map[string]any) bool {
	if len(v) < s.MinProperties || s.MaxProperties >= 0 && len(v) > s.MaxProperties || !hasAll(v, s.Required) {
		return false
	}
	for name, others := range s.DependentRequired {
		if _, there := v[name]; there && !hasAll(v, others) {
			return false
		}
	}
	for name, sub := range s.DependentSchemas {
		if _, there := v[name]; there && !a.valid(sub, v) {
			return false
		}
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	if s.PropertyNames == nil && len(s.PatternProperties) == 0 && additional == nil && s.AdditionalProperties != false && len(s.Properties) < len(v) {
		for name, sub := range s.Properties {
			if value, there := v[name]; there && !a.valid(sub, value) {
				return false
			}
		}
		return true
	}
	for name, value := range v {
		if s.PropertyNames != nil && !a.valid(s.PropertyNames, name) {
			return false
		}
		sub, named := s.Properties[name]
		if named && !a.valid(sub, value) {
			return false
		}
		for pattern, sub := range s.PatternProperties {
			if pattern.MatchString(name) {
				named = true
				if !a.valid(sub, value) {
					return false
				}
			}
		}
		if !named && (s.AdditionalProperties == false || additional != nil && !a.valid(additional, value)) {
			return false
		}
	}
	return true
}

func hasAll(v map[string]any, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, there := v[name]
		return !there
	})
}

// applied checks the schemas that apply to the same value.
func (a *acceptance) applied(s *jsonschema.Schema, v any) bool {
	holds := func(sub *jsonschema.Schema) bool { return a.valid(sub, v) }
	if s.Ref != nil && !holds(s.Ref) || s.Not != nil && holds(s.Not) || len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, holds) {
		return false
	}
	for _, sub := range s.AllOf {
		if !holds(sub) {
			return false
		}
	}
	if len(s.OneOf) > 0 {
		n := 0
		for _, sub := range s.OneOf {
			if holds(sub) {
				n++
			}
		}
		if n != 1 {
			return false
		}
	}
	switch {
	case s.If == nil:
		return true
	case holds(s.If):
		return s.Then == nil || holds(s.Then)
	}
	return s.Else == nil || holds(s.Else)
}
