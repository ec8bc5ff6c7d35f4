package article

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func termsOf(tag, text string) []string {
	return slices.Sorted(maps.Keys(analyzerNamed(analysisOf(tag)).counts(text)))
}

func TestWordsAreStemmedByLanguage(t *testing.T) {
	for _, c := range []struct{ tag, one, other string }{
		{"en", "running", "run"}, {"en-GB", "The ponies", "pony"}, {"en", "the dog’s", "dogs"},
		{"no", "bilene", "bil"}, {"nb-NO", "bilene", "biler"}, {"nn", "bilen", "bil"},
		{"sv", "bilarna", "bil"}, {"da", "bilerne", "bil"},
		{"de", "Häuser", "Haus"}, {"de", "Strasse", "Straße"}, {"de-AT", "HÄUSER", "Haeuser"},
		{"fr", "l’homme", "les hommes"}, {"es", "libros", "libro"}, {"it", "ragazzi", "ragazzo"},
		{"pt", "gatos", "gato"}, {"nl", "katten", "kat"}, {"fi", "taloissa", "talo"},
		{"ru", "машины", "машина"}, {"pl", "samochody", "samochodami"}, {"tr", "kitaplar", "kitap"},
		{"hu", "házak", "ház"}, {"ro", "băieții", "băieți"},
		{"", "CAFE\u0301", "café"}, {"tlh", "Qapla", "qapla"}, {"not a tag!", "Words", "words"},
	} {
		one, other := termsOf(c.tag, c.one), termsOf(c.tag, c.other)
		if len(one) != 1 || !slices.Equal(one, other) {
			t.Errorf("%s: %q gives %q, %q gives %q", c.tag, c.one, one, c.other, other)
		}
	}
}

func TestTermsOfTexts(t *testing.T) {
	for _, c := range []struct {
		name, tag, text string
		want            []string
	}{
		{"no stems without a language", "", "running the runs", []string{"running", "runs", "the"}},
		{"stop words", "en", "the state of the art", []string{"art", "state"}},
		{"nothing but stop words", "en", "To be, or not to be", []string{"be", "not", "or", "to"}},
		{"Han in pairs", "ja", "東京都 x", []string{"x", "京都", "東京"}},
		{"in any language", "en", "in 東京", []string{"東京"}},
		{"Katakana", "", "カメラ", []string{"カメ", "メラ"}},
		{"wide letters", "", "Ｗｉｄｅ", []string{"wide"}},
		{"Thai in pairs", "th", "กขค", []string{"กข", "ขค"}},
		{"one Thai letter beside a word", "th", "ก word ที่", []string{"word", "ก", "ที่"}},
		{"symbols only", "", "🎉👍", []string{"🎉👍"}},
		{"one symbol", "en", " ! ", []string{"!"}},
		{"invalid UTF-8 ends no text", "", "one\xff\xfetwo", []string{"one", "two"}},
		{"control characters", "", "one\x00two\x1b", []string{"one", "two"}},
		{"blank", "en", " \n\t\x00", nil},
	} {
		slices.Sort(c.want)
		if got := termsOf(c.tag, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q gives %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func TestLongWordsAreToldApart(t *testing.T) {
	long := strings.Repeat("a", 500_000)
	one, other := termsOf("en", long), termsOf("en", long+"b")
	if len(one) != 1 || len(one[0]) > maxWord || slices.Equal(one, other) {
		t.Errorf("%d terms, of %d bytes", len(one), len(one[0]))
	}
}

func TestTermsAreLimited(t *testing.T) {
	var text strings.Builder
	for n := range 2 * maxTerms {
		text.WriteString("w" + strconv.Itoa(n) + " ")
	}
	if terms := termsOf("", text.String()); len(terms) != maxTerms {
		t.Errorf("%d terms", len(terms))
	}
}

func TestWhatIsRememberedIsLimited(t *testing.T) {
	a := &analyzer{pipeline: analyzerNamed("en").pipeline, known: map[string]string{}}
	for n := 0; n < 2*maxKnown; n += 1000 {
		var words strings.Builder
		for i := range 1000 {
			words.WriteString("w" + strconv.Itoa(n+i) + " ")
		}
		a.counts(words.String())
	}
	if len(a.known) == 0 || len(a.known) > maxKnown {
		t.Errorf("%d words are remembered", len(a.known))
	}
}

// hostile texts are found by themselves, and harm nothing.
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
			terms := NewTerms()
			put(t, terms, "n", "hostile", tag, text)
			if got := search(t, terms, "n", Query{Sentence: text, Threshold: 1, Limit: 1}); got.Total != 1 || got.Hits[0].Score != 1 {
				t.Errorf("%s, %s: %v", name, tag, got)
			}
		}
	}
}

func FuzzAnalysis(f *testing.F) {
	for _, seed := range []string{"", "The quick brown fox", "l'homme d’État", "東京都カメラ", "สวัสดี hello", "a\xff\u0301'", "1,2.3 ''s 's", "🎉👍🏽\u200d", "e\u0301\u0327"} {
		for _, tag := range []string{"", "en", "de", "fr", "tr", "pl", "fa", "hi"} {
			f.Add(tag, seed)
		}
	}
	f.Fuzz(func(t *testing.T, tag, text string) {
		a := analyzerNamed(analysisOf(tag))
		once := a.counts(text)
		if again := a.counts(text); !maps.Equal(once, again) {
			t.Fatalf("%q gives %v, then %v", text, once, again)
		}
		if len(once) > maxTerms {
			t.Fatalf("%d terms", len(once))
		}
		for term, times := range once {
			if term == "" || times < 1 || times > len(text)*18 {
				t.Fatalf("%q: %q %d times", text, term, times)
			}
			if len(term) != 32 && !utf8.ValidString(term) {
				t.Fatalf("%q gives %q", text, term)
			}
		}
	})
}
