package language

import (
	"testing"
	"unicode"
)

// Folding a folded word changes nothing, for every letter with every kind of mark.
func TestFoldIsStable(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			continue
		}
		for _, marks := range []string{"", "\u0301", "\u0308", "\u0316\u0308", "\u0308\u0308", "\u0327\u0301"} {
			word := string(r) + marks
			if folded := fold(word); fold(folded) != folded {
				t.Errorf("%+q is folded to %+q, and that to %+q", word, folded, fold(folded))
			}
		}
	}
}

func TestFoldRemovesAccents(t *testing.T) {
	for word, want := range map[string]string{
		"josé": "jose", "M\xf0\xf0Ǐ": "M\uFFFDI", "tromsø": "tromso", "ǽ": "ae", "ǿ": "o", "ё": "е", "е\u0308\u0308": "е", "й": "й", "が": "が", "straße": "strasse",
	} {
		if got := fold(word); got != want {
			t.Errorf("%q is folded to %q, want %q", word, got, want)
		}
	}
}
