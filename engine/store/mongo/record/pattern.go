package record

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Beginning is an anchored pattern, which is a range of an index.
func Beginning(text string) bson.Regex { return bson.Regex{Pattern: "^" + quote(text)} }

// Containing is a pattern for a text in any case. It lists the cases of each
// letter: MongoDB's case folding differs from strings.ToLower, which defines
// query.Contains.
func Containing(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if upper := uppers()[r]; upper != "" {
			b.WriteByte('[')
			b.WriteRune(r)
			b.WriteString(upper)
			b.WriteByte(']')
		} else {
			b.WriteString(quote(string(r)))
		}
	}
	return b.String()
}

// quote is a pattern for a text. A BSON pattern must not hold a zero byte.
func quote(text string) string { return strings.ReplaceAll(regexp.QuoteMeta(text), "\x00", `\x00`) }

// uppers maps each letter to all letters of which it is the lower case.
var uppers = sync.OnceValue(func() map[rune]string {
	all := map[rune]string{}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if lower := unicode.ToLower(r); lower != r {
			all[lower] += string(r)
		}
	}
	return all
})
