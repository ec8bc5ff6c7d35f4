package dialect

import (
	"maps"
	"slices"
	"strings"
)

// keywords are the keywords without subschemas of draft 2020-12, and those of
// draft 7 that problems explain.
var keywords = []string{
	"$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "$comment",
	"type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
	"maxLength", "minLength", "pattern", "maxItems", "minItems", "maxContains", "minContains",
	"maxProperties", "minProperties", "required", "dependentRequired", "dependencies",
	"title", "description", "deprecated", "examples",
	"format", "contentEncoding", "contentMediaType", "$recursiveRef", "$recursiveAnchor", "additionalItems",
}

// Keywords returns the names of the keywords, in no order.
func Keywords() []string { return slices.AppendSeq(slices.Clone(keywords), maps.Keys(applicators)) }

// foreign are keywords of other dialects that resemble a known one but are not
// misspelt.
var foreign = []string{"example", "id"}

// Misspelt returns the known name that differs from a name by one edit or only in
// case. It returns "" if there is none or the name itself is known.
func Misspelt(name string, known []string) string {
	if slices.Contains(known, name) || slices.Contains(foreign, name) {
		return ""
	}
	for _, other := range known {
		if strings.EqualFold(name, other) || "$"+name == other || len(name) >= 4 && len(other) >= 4 && oneEdit([]rune(strings.ToLower(name)), []rune(strings.ToLower(other))) {
			return other
		}
	}
	return ""
}

// oneEdit reports whether two words differ by one added, missing or replaced
// letter, or by two swapped neighbours.
func oneEdit(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		return i == len(a) || slices.Equal(a[i+1:], b[i+1:]) ||
			i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && slices.Equal(a[i+2:], b[i+2:])
	case 1:
		return slices.Equal(a[i:], b[i+1:])
	}
	return false
}
