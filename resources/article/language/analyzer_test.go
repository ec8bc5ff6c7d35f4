package language

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func termsOf(tag, text string) []string {
	return slices.Sorted(maps.Keys(Named(Of(tag)).Counts(text)))
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
		{"en", "avalanche", "avalanches"}, {"nb", "elbil", "elbiler"}, {"nb", "snøen", "snø"}, {"nn", "byane", "byar"}, {"da", "byen", "byer"},
		{"nb", "vinter", "vinteren"}, {"nl", "fiets", "fietsen"}, {"ru", "Москва", "Москве"}, {"ru", "учёный", "ученые"}, {"es", "sepultó", "sepultadas"},
		{"fr", "avalanche", "avalanches"}, {"ga", "bhuachaill", "buachaill"}, {"ta", "வீடுகள்", "வீடு"},
		{"ar", "الكتاب", "كتاب"}, {"hr", "kuće", "kuća"}, {"hi", "लड़कियों", "लड़की"}, {"ckb", "پیاوەکە", "پیاو"},
		// Accents are folded, in every language.
		{"", "CAFE\u0301", "cafe"}, {"es", "Málaga", "malaga"}, {"nb", "Tromsø", "Tromso"}, {"sv", "Malmö", "malmo"}, {"fr", "Œuvre", "oeuvre"},
		{"cs", "Plzeň", "plzen"}, {"el", "Αθήνα", "αθηνα"}, {"el", "δρόμος", "ΔΡΟΜΟΣ"}, {"tlh", "Qapla", "qapla"}, {"not a tag!", "Words", "words"},
	} {
		one, other := termsOf(c.tag, c.one), termsOf(c.tag, c.other)
		if len(one) != 1 || !slices.Equal(one, other) {
			t.Errorf("%s: %q gives %q, %q gives %q", c.tag, c.one, one, c.other, other)
		}
	}
}

// Some stemmers recognise endings by their accents. A word written with and without
// accents has a term in common nevertheless.
func TestAccentsMayBeLeftOut(t *testing.T) {
	for tag, words := range map[string]string{
		"pl": "samochodów książka łódź żółta świąt", "hu": "kertért Budapestként tévék", "tr": "kitapları çocukların ışıklar", "pt": "ações nação eleições",
		"ro": "băieții țări mașini", "sv": "Göteborg älgarna", "fr": "gouttières troisième élections", "de": "für Häuser", "fi": "töissä", "es": "volcán",
	} {
		for word := range strings.FieldsSeq(words) {
			with, without := termsOf(tag, word), termsOf(tag, fold(strings.ToLower(word)))
			if len(with) > 2 || len(with) > 0 && !slices.ContainsFunc(without, func(term string) bool { return slices.Contains(with, term) }) {
				t.Errorf("%s: %q gives %q, without accents %q", tag, word, with, without)
			}
		}
	}
	if terms := termsOf("", "й が ё"); !slices.Equal(terms, []string{"е", "й", "が"}) {
		t.Errorf("%q", terms)
	}
}

// Stop words are ignored, with and without accents.
func TestStopWords(t *testing.T) {
	for tag, words := range map[string]string{
		"en": "the of and", "nb": "og i på", "de": "für und über uber", "fr": "à été de", "es": "más el la también tambien", "ru": "и в на", "bg": "и в на",
		"cs": "a je aby", "ca": "amb els", "el": "και το", "eu": "eta ez", "gl": "que nos", "id": "yang dan", "hy": "որ է", "ga": "agus an",
	} {
		if terms := termsOf(tag, words+" zzzz"); !slices.Equal(terms, []string{"zzzz"}) {
			t.Errorf("%s: %q", tag, terms)
		}
	}
}

// Languages are detected by stop words and letters.
func TestLanguagesAreDetected(t *testing.T) {
	for text, want := range map[string]string{
		"The ferry was late, and all of the passengers had to wait for it.": "en", "Fergen var forsinket, og alle passasjerene måtte vente på den.": "no",
		"Färjan var försenad, och alla passagerare fick vänta på den.": "sv", "Færgen var forsinket, og alle passagererne måtte vente på den i havnen efter den ene time.": "da",
		"Die Fähre war zu spät, und alle mussten auf sie warten.": "de", "Le bateau était en retard, et tous les passagers ont dû attendre.": "fr",
		"El barco llegó tarde, y todos los pasajeros tuvieron que esperar.": "es", "Il traghetto era in ritardo, e tutti i passeggeri hanno dovuto aspettare.": "it",
		"Паром опоздал, и всем пассажирам пришлось его ждать.": "ru", "De veerboot was te laat, en alle passagiers moesten erop wachten.": "nl",
		"Lautta oli myöhässä, ja kaikki matkustajat joutuivat odottamaan sitä.": "fi", "Prom się spóźnił i wszyscy pasażerowie musieli na niego czekać.": "pl",
		"Το πλοίο άργησε και όλοι περίμεναν.": "el", "東京都": Plain, "ยินดี": Plain, "Qapla zzz": Plain, "": Plain, "\xff\xfe": Plain,
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
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

func TestLongWordsAreDistinct(t *testing.T) {
	long := strings.Repeat("a", 500_000)
	one, other := termsOf("en", long), termsOf("en", long+"b")
	if len(one) != 1 || len(one[0]) > MaxWord || slices.Equal(one, other) {
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

func TestCachedWordsAreLimited(t *testing.T) {
	a := &Analyzer{pipeline: Named("en").pipeline, known: map[string][]string{}}
	for n := 0; n < 2*maxKnown; n += 1000 {
		var words strings.Builder
		for i := range 1000 {
			words.WriteString("w" + strconv.Itoa(n+i) + " ")
		}
		a.Counts(words.String())
	}
	if len(a.known) == 0 || len(a.known) > maxKnown {
		t.Errorf("%d words are cached", len(a.known))
	}
}

func FuzzAnalysis(f *testing.F) {
	for _, seed := range []string{"", "The quick brown fox", "l'homme d’État", "東京都カメラ", "สวัสดี hello", "a\xff\u0301'", "1,2.3 ''s 's", "🎉👍🏽\u200d", "e\u0301\u0327"} {
		for _, tag := range []string{"", "en", "de", "fr", "tr", "pl", "fa", "hi"} {
			f.Add(tag, seed)
		}
	}
	f.Fuzz(func(t *testing.T, tag, text string) {
		a := Named(Of(tag))
		once := a.Counts(text)
		if again := a.Counts(text); !maps.Equal(once, again) {
			t.Fatalf("%q gives %v, then %v", text, once, again)
		}
		if detected := Detect(text); detected != Plain && languages[detected].filters == nil {
			t.Fatalf("%q is in %q", text, detected)
		}
		if folded := fold(text); fold(folded) != folded {
			t.Fatalf("%q is folded to %q, and that to %q", text, folded, fold(folded))
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
