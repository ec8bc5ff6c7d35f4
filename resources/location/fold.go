package location

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// plain are the letters that no Unicode normal form takes apart, as those
// write them who lack the key.
var plain = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th",
	'ħ': "h", 'ŧ': "t", 'ŋ': "n", 'ı': "i", 'ə': "e", 'ς': "σ",
}

// apostrophes are what is written for one, the letters of transliterations
// that look like it included.
const apostrophes = "'`’‘‛′ʹʻʼʽʾʿˈ"

// forms reduces a name to what is compared: words without case, accents and
// punctuation, with one space between them. Where it has apostrophes, they
// separate words in the first form and join them in the second one: "st john
// s", "st johns". A name without letters and digits has no form.
func forms(name string) []string {
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

// fold makes a form, and tells whether it met an apostrophe. What is not valid
// UTF-8 separates words. To fold a form changes nothing.
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

// commonRunes has those of the Latin alphabets.
var commonRunes = sync.OnceValue(func() *[0x250]foldedRune {
	var table [0x250]foldedRune
	for r := range table {
		table[r] = foldRune(rune(r))
	}
	return &table
})

// foldRune folds a character by itself: what is left out of the normal form
// are the marks, so their order is of no account.
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
