package language

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold returns a lower-case word without accents: josé as jose, tromsø as tromso. It
// keeps marks in scripts where they make a different letter, as in й or が.
func fold(word string) string {
	ascii := true
	for i := range len(word) {
		ascii = ascii && word[i] < 0x80
	}
	if ascii {
		return word
	}
	var folded strings.Builder
	var base rune
	optional := false
	for _, r := range plainLetters.Replace(norm.NFD.String(strings.ToValidUTF8(word, "\uFFFD"))) {
		switch {
		case !unicode.Is(unicode.Mn, r):
			base = r
			optional = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Hebrew, unicode.Arabic)
		case optional, base == 'е' && r == '\u0308': // ё is often written as е
			continue
		}
		folded.WriteRune(r)
	}
	return norm.NFC.String(folded.String())
}

// plainLetters replaces letters that do not decompose into a plain one and an accent.
var plainLetters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th",
	"ħ", "h", "ı", "i", "ŋ", "n", "ŧ", "t", "ς", "σ")
