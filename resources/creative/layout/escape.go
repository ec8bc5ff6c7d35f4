package layout

import (
	"html/template"
	"strings"
)

// An escaper escapes a value for one kind of place.
type escaper func(string) string

// The escapers are those of html/template, each obtained from a fixed template
// with one action in the intended place. No html of a client is ever parsed as a
// template.
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
			// Writes to a string builder do not fail, and every place accepts a string.
			panic(err)
		}
		return strings.TrimSuffix(strings.TrimPrefix(b.String(), before), after)
	}
}

// then returns the escaper for nested places, such as a script in an attribute.
func (first escaper) then(second escaper) escaper {
	return func(value string) string { return second(first(value)) }
}

// escapeToNothing drops values in comments.
func escapeToNothing(string) string { return "" }

// escapeCSSValue drops a value that is more than keywords, numbers and colours,
// since no escape keeps other characters from changing the structure of a style.
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
