package query

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxWordBytes is the number of bytes of a word that a search compares.
const MaxWordBytes = 64

// Words splits text into its search words: runs of letters and digits, without
// case and accents, each once.
func Words(text string) []string {
	var words []string
	seen := map[string]bool{}
	for _, word := range strings.FieldsFunc(fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) > MaxWordBytes {
			word = strings.ToValidUTF8(word[:MaxWordBytes], "")
		}
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

// EachString calls found for each string at a path below a value, in the items of arrays
// too.
func EachString(value any, path []string, found func(string)) {
	if items, ok := value.([]any); ok {
		for _, item := range items {
			EachString(item, path, found)
		}
		return
	}
	if len(path) == 0 {
		if s, ok := value.(string); ok {
			found(s)
		}
		return
	}
	if members, ok := value.(map[string]any); ok {
		EachString(members[path[0]], path[1:], found)
	}
}

func fold(text string) string {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return unicode.ToLower(r)
			}, norm.NFKD.String(strings.ToValidUTF8(text, " ")))
		}
	}
	return strings.ToLower(text)
}
