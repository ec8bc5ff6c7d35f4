package location

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words shorter than minTypoRunes are not corrected, since too many others are
// similar, nor are texts longer than maxTypoRunes, which are not names.
const (
	minTypoRunes = 5
	maxTypoRunes = 48
)

// near returns the postings of all keys that differ from a text by one typing error:
// a letter inserted, omitted or replaced, or two adjacent letters swapped.
//
// At each position of the text it tries every letter that continues some key. The
// rest of the key must equal the rest of the text, which a binary search decides.
func (x *index) near(text string) []posting {
	if !correctable(text) {
		return nil
	}
	var found []posting
	try := func(key string) {
		if key != text {
			found = append(found, x.exact(key)...)
		}
	}
	for at, r := range text {
		before, rest := text[:at], text[at+utf8.RuneLen(r):]
		if !x.begins(before) {
			return found
		}
		try(before + rest)
		if next, size := utf8.DecodeRuneInString(rest); size > 0 {
			try(before + string(next) + string(r) + rest[size:])
		}
		for _, letter := range x.letters(before, r) {
			try(before + letter + rest)
			try(before + letter + string(r) + rest)
		}
	}
	for _, letter := range x.letters(text, 0) {
		try(text + letter)
	}
	return found
}

// correctable reports whether near corrects a text.
func correctable(text string) bool {
	n := utf8.RuneCountInString(text)
	return n >= minTypoRunes && n <= maxTypoRunes
}

// begins reports whether a key has the prefix.
func (x *index) begins(prefix string) bool {
	i, _ := slices.BinarySearch(x.keys, prefix)
	return i < len(x.keys) && strings.HasPrefix(x.keys[i], prefix)
}

// letters returns the letters that follow a prefix in some key. Thousands of letters
// begin a key; for an empty prefix, it returns only those of the script of a letter.
func (x *index) letters(prefix string, like rune) []string {
	if prefix == "" {
		return x.first[scriptOf(like)]
	}
	var letters []string
	for i, _ := slices.BinarySearch(x.keys, prefix); i < len(x.keys) && strings.HasPrefix(x.keys[i], prefix); {
		r, size := utf8.DecodeRuneInString(x.keys[i][len(prefix):])
		if size == 0 {
			i++ // the prefix itself
			continue
		}
		letters = append(letters, string(r))
		i = x.after(prefix + string(r))
	}
	return letters
}

// after returns the index of the first key that is greater than all keys with a
// prefix.
func (x *index) after(prefix string) int {
	i, _ := slices.BinarySearchFunc(x.keys, prefix, func(key, prefix string) int {
		if key < prefix || strings.HasPrefix(key, prefix) {
			return -1
		}
		return 1
	})
	return i
}

// alphabets has the scripts with few letters.
var alphabets = []*unicode.RangeTable{
	unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew, unicode.Armenian, unicode.Georgian,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Thai, unicode.Katakana,
}

// scriptOf returns the index of a letter's script in alphabets, or -1.
func scriptOf(r rune) int {
	return slices.IndexFunc(alphabets, func(script *unicode.RangeTable) bool { return unicode.Is(script, r) })
}

// firstLetters returns the first letters of the keys, by script.
func firstLetters(keys []string) map[int][]string {
	first := map[int][]string{}
	var last rune
	for _, key := range keys {
		r, _ := utf8.DecodeRuneInString(key)
		if r == last {
			continue
		}
		last = r
		if script := scriptOf(r); script >= 0 {
			first[script] = append(first[script], string(r))
		}
	}
	return first
}
