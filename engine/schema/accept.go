package schema

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// accepts decides whether a value is valid, without the sets, paths and errors
// that the library makes on its way, which take ten times as long. It walks
// what the library has compiled; where it meets what it does not know, the
// library decides.
func accepts(s *jsonschema.Schema, v any) bool {
	var a acceptance
	if valid := a.valid(s, v); !a.unknown {
		return valid
	}
	return s.Validate(v) == nil
}

// acceptance is one walk. Once it has met what it does not know, its answers
// count no longer.
type acceptance struct {
	unknown bool
	depth   int
}

// maxAcceptance is how deep schemas apply schemas: one that applies itself to
// the same value ends here.
const maxAcceptance = 1000

func (a *acceptance) valid(s *jsonschema.Schema, v any) bool {
	a.depth++
	defer func() { a.depth-- }()
	a.unknown = a.unknown || a.depth > maxAcceptance || !isKnown(s)
	switch {
	case a.unknown:
		return false
	case s.Always != nil:
		return *s.Always
	}
	return a.typed(s.Types, v) && a.listed(s, v) && a.formed(s, v) && a.whole(s, v) && a.applied(s, v)
}

// isKnown reports whether a schema has none of the keywords that are left to
// the library.
func isKnown(s *jsonschema.Schema) bool {
	return s.RecursiveRef == nil && s.DynamicRef == nil && s.UnevaluatedItems == nil && s.UnevaluatedProperties == nil &&
		s.Contains == nil && s.Items == nil && s.AdditionalItems == nil && !s.UniqueItems && !s.RegexProperties && s.MultipleOf == nil &&
		len(s.Dependencies) == 0 && len(s.DependentSchemas) == 0 && len(s.Extensions) == 0 && s.ContentMediaType == "" && s.ContentEncoding == ""
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

// listed are const and enum.
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
	format, known := formats[s.Format]
	if !known {
		format, known = jsonschema.Formats[s.Format]
	}
	a.unknown = a.unknown || !known
	return known && format(v)
}

// whole are the keywords of one type of values.
func (a *acceptance) whole(s *jsonschema.Schema, v any) bool {
	switch v := v.(type) {
	case string:
		if s.MinLength >= 0 || s.MaxLength >= 0 {
			if n := utf8.RuneCountInString(v); n < s.MinLength || s.MaxLength >= 0 && n > s.MaxLength {
				return false
			}
		}
		return s.Pattern == nil || s.Pattern.MatchString(v)
	case int64, float64:
		return a.compare(v, s.Minimum) >= 0 && a.compare(v, s.Maximum) <= 0 &&
			(s.ExclusiveMinimum == nil || a.compare(v, s.ExclusiveMinimum) > 0) &&
			(s.ExclusiveMaximum == nil || a.compare(v, s.ExclusiveMaximum) < 0)
	case map[string]any:
		return a.object(s, v)
	case []any:
		if len(v) < s.MinItems || s.MaxItems >= 0 && len(v) > s.MaxItems {
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

// compare compares a number with a bound, 0 when there is none.
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

// applied are the schemas that hold for the same value.
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
