package index

import (
	"strings"
	"testing"
)

// hostile texts can be indexed, and are found by themselves.
var hostile = map[string]string{
	"no spaces":       strings.Repeat("a", 500_000),
	"ideographs":      strings.Repeat("漢字", 80_000),
	"marks":           strings.Repeat("\u0301", 250_000),
	"letter and mark": strings.Repeat("a\u0301", 250_000),
	"one long mark":   "a" + strings.Repeat("\u0301", 250_000),
	"Thai":            strings.Repeat("ก", 160_000),
	"Thai and marks":  "กข" + strings.Repeat("\u0e48", 160_000),
	"flags":           strings.Repeat("🇩🇪", 60_000),
	"quotes":          strings.Repeat("'", 500_000),
	"controls":        "a" + strings.Repeat("\x01\x00\x1b", 160_000),
	"invalid":         strings.Repeat("\xff\xc0", 250_000),
	"numbers":         strings.Repeat("1,", 250_000),
	"one letter each": strings.Repeat("a ", 250_000),
	"ligatures":       strings.Repeat("ﷺ", 100_000),
	"apostrophes":     strings.Repeat("l'", 250_000),
}

func TestHostileTextsAreFound(t *testing.T) {
	for name, text := range hostile {
		for _, tag := range []string{"", "en"} {
			terms := NewTerms(0)
			put(t, terms, "n", "hostile", tag, text)
			if got := search(t, terms, "n", Query{Sentence: text, Threshold: 1, Limit: 1}); got.Total != 1 || got.Hits[0].Score != 1 {
				t.Errorf("%s, %s: %v", name, tag, got)
			}
		}
	}
}
