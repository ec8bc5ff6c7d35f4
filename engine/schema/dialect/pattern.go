package dialect

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const patternCure = "correct it; patterns use RE2 syntax, which has no look-around such as (?=…) and no back-references such as \\1"

// BadPattern explains why a pattern cannot be compiled, and where, and how to correct it.
func BadPattern(pattern string) (text, cure string) {
	_, err := syntax.Parse(pattern, syntax.Perl)
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return "the pattern cannot be compiled", patternCure
	}
	if bad.Code == syntax.ErrUnexpectedParen {
		bad.Expr = ")" // rather than the whole pattern
	}
	text = "the pattern cannot be compiled: " + bad.Code.String()
	if at := badAt(pattern, bad); at >= 0 {
		text += fmt.Sprintf(" %s at character %d", bad.Expr, utf8.RuneCountInString(pattern[:at])+1)
	}
	return text, patternCure
}

// badAt returns the offset of an error: the end of the shortest prefix of the
// pattern that has the same error.
func badAt(pattern string, bad *syntax.Error) int {
	for from := 0; bad.Expr != ""; {
		i := strings.Index(pattern[from:], bad.Expr)
		if i < 0 {
			break
		}
		at := from + i
		_, err := syntax.Parse(pattern[:at+len(bad.Expr)], syntax.Perl)
		var same *syntax.Error
		if errors.As(err, &same) && same.Code == bad.Code && strings.HasSuffix(same.Expr, bad.Expr) {
			return at
		}
		from = at + 1
	}
	return strings.Index(pattern, bad.Expr)
}
