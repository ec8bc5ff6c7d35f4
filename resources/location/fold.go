package location

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plain has the usual replacements of letters that no Unicode normal form decomposes.
var plain = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th",
	'ħ': "h", 'ŧ': "t", 'ŋ': "n", 'ı': "i", 'ə': "e", 'ς': "σ",
}

// apostrophes are the characters used as apostrophes, including similar letters of
// transliterations.
const apostrophes = "'`’‘‛′ʹʻʼʽʾʿˈ"

// forms returns the forms of a name that searches compare: lower-case words without
// accents and punctuation, separated by one space. Apostrophes separate words in the
// first form and join them in the second: "st john s", "st johns". A name without
// letters and digits has no form.
func forms(name string) []string {
	name = joinInitials(name)
	split, apostrophe := fold(name, true)
	if split == "" {
		return nil
	}
	if apostrophe {
		if joined, _ := fold(name, false); joined != split {
			return []string{split, joined}
		}
	}
	return []string{split}
}

// initials are letters each followed by a full stop, except perhaps the last: "U.S.A.",
// "Washington, D. C.".
var initials = regexp.MustCompile(`(?:^|[^\p{L}\p{N}])(?:\p{L}\. ?)+\p{L}(?:\.|[^\p{L}\p{N}\p{M}]|$)`)

// joinInitials removes full stops and spaces from initials.
func joinInitials(name string) string {
	if !strings.Contains(name, ".") {
		return name
	}
	return initials.ReplaceAllStringFunc(name, func(found string) string {
		// Keep the characters before and after the initials.
		_, first := utf8.DecodeRuneInString(found)
		_, last := utf8.DecodeLastRuneInString(found)
		if r, _ := utf8.DecodeRuneInString(found); unicode.IsLetter(r) {
			first = 0
		}
		if r, _ := utf8.DecodeLastRuneInString(found); unicode.IsLetter(r) {
			last = 0
		}
		within := found[first : len(found)-last]
		return found[:first] + strings.NewReplacer(".", "", " ", "").Replace(within) + found[len(found)-last:]
	})
}

// fold returns a form, and reports whether the text has an apostrophe. Invalid UTF-8
// separates words. Folding a form again changes nothing.
func fold(text string, split bool) (folded string, apostrophe bool) {
	var b strings.Builder
	b.Grow(len(text) + 1)
	gap := false
	common := commonRunes()
	for _, r := range text {
		var f foldedRune
		if int(r) < len(common) {
			f = common[r]
		} else {
			f = foldRune(r)
		}
		switch f.kind {
		case letters:
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteString(f.as)
		case gaps:
			gap = true
		case apostrophic:
			apostrophe = true
			gap = gap || split
		}
	}
	return b.String(), apostrophe
}

type runeKind byte

const (
	letters runeKind = iota
	gaps
	apostrophic
	nothing
)

type foldedRune struct {
	kind runeKind
	as   string
}

// commonRunes caches foldRune for the Latin alphabets.
var commonRunes = sync.OnceValue(func() *[0x250]foldedRune {
	var table [0x250]foldedRune
	for r := range table {
		table[r] = foldRune(rune(r))
	}
	return &table
})

// foldRune folds a single character. It drops marks, so that their order in the
// normal form does not matter.
func foldRune(r rune) foldedRune {
	if strings.ContainsRune(apostrophes, r) {
		return foldedRune{kind: apostrophic}
	}
	as, other := "", false
	for _, part := range norm.NFKD.String(string(r)) {
		switch {
		case unicode.In(part, unicode.Mn, unicode.Me, unicode.Cf):
		case unicode.In(part, unicode.L, unicode.N, unicode.Mc) && !strings.ContainsRune(apostrophes, part):
			part = unicode.ToLower(part)
			if known, ok := plain[part]; ok {
				as += known
			} else {
				as += string(part)
			}
		default:
			other = true
		}
	}
	switch {
	case as != "":
		return foldedRune{letters, as}
	case other:
		return foldedRune{kind: gaps}
	}
	return foldedRune{kind: nothing}
}
