package layout

import (
	"html/template"
	"strings"
)

// An escaper makes a value harmless for one kind of place.
type escaper func(string) string

// The escapers are those of html/template, each reached through a fixed
// template whose only action stands in the place that is wanted. No html of a
// client is ever read as a template.
var (
	escapeHTML     = escaperOf(`<p>`, `</p>`)
	escapeJSString = escaperOf(`<script>"`, `"</script>`)
	escapeJSValue  = escaperOf(`<script>x=`, `</script>`)
	escapeCSS      = escaperOf(`<style>a{content:"x`, `"}</style>`)
	normalizeURL   = escaperOf(`<style>a{background:url("/`, `")}</style>`)
	escapeQuery    = escaperOf(`<style>a{background:url("/?`, `")}</style>`)
)

func escaperOf(before, after string) escaper {
	place := template.Must(template.New("").Parse(before + "{{.}}" + after))
	return func(value string) string {
		var b strings.Builder
		b.Grow(len(before) + len(value) + len(after))
		if err := place.Execute(&b, value); err != nil {
			// A string builder takes every write and every place takes a string.
			panic(err)
		}
		return strings.TrimSuffix(strings.TrimPrefix(b.String(), before), after)
	}
}

// then answers the escaper of a place within a place: a script in an attribute.
func (first escaper) then(second escaper) escaper {
	return func(value string) string { return second(first(value)) }
}

// escapeNothing leaves no value at all, in a place that nobody sees.
func escapeNothing(string) string { return "" }

// escapeCSSValue leaves out a value that is more than keywords, numbers and
// colours, since no escape keeps other characters out of a style's structure.
func escapeCSSValue(value string) string {
	for i := range len(value) {
		if !isWord(value[i]) && !strings.ContainsRune(" #.,%-", rune(value[i])) {
			return ""
		}
	}
	if strings.Contains(value, "--") {
		return ""
	}
	return value
}
