package schema

import (
	"fmt"
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/keyword"
)

// bounds are pairs of keywords of which the first must not exceed the second. If
// strict, they must differ.
var bounds = []struct {
	lower, upper string
	strict       bool
}{
	{"minimum", "maximum", false},
	{"exclusiveMinimum", "maximum", true},
	{"minimum", "exclusiveMaximum", true},
	{"exclusiveMinimum", "exclusiveMaximum", true},
	{"minLength", "maxLength", false},
	{"minItems", "maxItems", false},
	{"minProperties", "maxProperties", false},
	{"minContains", "maxContains", false},
}

// checkContradictions finds schemas that the meta-schema accepts although no
// value can be valid, or a keyword is misspelt.
func (l *loader) checkContradictions() {
	known := dialect.Keywords()
	for _, k := range keyword.All() {
		known = append(known, k.Name)
	}
	slices.Sort(known)
	for _, f := range l.inOrder() {
		walkFile(f, func(at string, schema map[string]any) {
			for name := range schema {
				if meant := dialect.Misspelt(name, known); meant != "" {
					place := at + "/" + document.EscapeToken(name)
					l.drop(f, place)
					l.report(f, place, name+" is not a keyword and would have no effect", "write "+meant)
				}
			}
			if values, ok := schema["enum"].([]any); ok && len(values) == 0 {
				l.report(f, at+"/enum", "an empty enum allows no value", "list the values, or remove it")
			}
			l.checkFormer(f, at, schema)
			for _, b := range bounds {
				if order, known := keyword.CompareValues(schema[b.lower], schema[b.upper]); known && (order > 0 || b.strict && order == 0) {
					l.report(f, at+"/"+b.lower, fmt.Sprintf("%s %v and %s %v allow no value", b.lower, schema[b.lower], b.upper, schema[b.upper]),
						"correct one of them")
				}
			}
		})
	}
}

// checkFormer finds values of x-was-values that the enum still has, and those that take the
// place of a former one and are not in it. So no value leads to another by way of a third.
func (l *loader) checkFormer(f *File, at string, schema map[string]any) {
	renamed, _ := schema["x-was-values"].(map[string]any)
	enum, _ := schema["enum"].([]any)
	for from, to := range renamed {
		place := at + "/x-was-values/" + document.EscapeToken(from)
		if slices.Contains(enum, any(from)) {
			l.report(f, place, from+" is still a value of the enum", "remove it from one of them")
		}
		if text, is := to.(string); is && !slices.Contains(enum, to) {
			l.report(f, place, text+" is not a value of the enum", "name a value that takes the place of "+from)
		}
	}
}

// drop removes the problems at a place, which a better explanation replaces.
func (l *loader) drop(f *File, pointer string) {
	l.problems = slices.DeleteFunc(l.problems, func(p Problem) bool { return p.File == f.Name && p.Pointer == pointer })
}
