package dialect

import (
	"strings"
	"testing"
)

// The problem of an invalid pattern includes the position of the error in
// characters.
func TestBadPattern(t *testing.T) {
	for pattern, want := range map[string]string{
		`^(?=a)b`:  "invalid or unsupported Perl syntax `(?=` at character 2",
		`æ(?<!a)b`: "invalid named capture `(?<!a)b` at character 2",
		`(a)\\1\1`: "invalid escape sequence `\\1` at character 7",
		`a[b`:      "missing closing ] `[b` at character 2",
		`a)`:       "unexpected ) `)` at character 2",
		`a**`:      "invalid nested repetition operator `**` at character 2",
		`a{2000}`:  "invalid repeat count `{2000}` at character 2",
		`[z-a]`:    "invalid character class range `z-a` at character 2",
	} {
		text, cure := BadPattern(pattern)
		if got := strings.TrimPrefix(text, "the pattern cannot be compiled: "); got != strings.ReplaceAll(want, "`", "") {
			t.Errorf("%s: %s", pattern, got)
		}
		if !strings.Contains(cure, "RE2") || !strings.Contains(cure, "look-around") {
			t.Error(cure)
		}
	}
}
