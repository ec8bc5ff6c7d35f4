package language

import (
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/registry"
	"golang.org/x/text/unicode/norm"
)

// maxDetected is the maximum number of bytes of a text that are used for detection.
const maxDetected = 4000

// detectable has the languages that can be detected. If several are equally likely, the
// first counts. Letters are those that distinguish a language from most others in its
// script.
var detectable = []struct{ analysis, letters string }{
	{"en", ""}, {"es", "áéíóúñ¿¡"}, {"pt", "áâãàéêíóôõúç"}, {"fr", "àâæçéèêëîïôœùû"}, {"de", "äöüß"},
	{"ru", "абвгдежзийклмнопрстуфхцчшщыьэюяё"}, {"it", "àèéìòù"}, {"nl", "ëï"}, {"pl", "ąćęłńóśźż"}, {"no", "åøæ"},
	{"sv", "åäö"}, {"da", "åøæ"}, {"fi", "äö"}, {"tr", "çğışöü"}, {"ro", "ăâîșțşţ"}, {"hu", "áéíóöőúüű"},
	{"cs", "áčďéěíňóřšťúůýž"}, {"el", "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώ"}, {"hr", "čćđšž"},
	{"bg", "абвгдежзийклмнопрстуфхцчшщъьюя"}, {"id", ""}, {"ar", "ابتثجحخدذرزسشصضطظعغفقكلمنهوية"},
	{"fa", "پچژگکی"}, {"ckb", "ۆێڕڵەڤ"}, {"hi", "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह"}, {"ca", "àçèéíïòóúü"},
	{"eu", ""}, {"gl", "áéíóúñ"}, {"ga", "áéíóú"}, {"hy", "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ"},
	{"ta", "அஆஇஈஉஊஎஏஐஒஓகஙசஞடணதநபமயரலவழளறன"},
}

// evidence has, as bits, the detectable languages of each stop word and letter.
type evidence struct {
	words   map[string]uint64
	letters map[rune]uint64
}

var detection = sync.OnceValue(func() evidence {
	e, cache := evidence{map[string]uint64{}, map[rune]uint64{}}, registry.NewCache()
	for i, l := range detectable {
		if stop := languages[l.analysis].stop; stop != "" {
			for word := range registered(cache.TokenMapNamed(stop)) {
				e.words[word] |= 1 << i
			}
		}
		for _, letter := range l.letters {
			e.letters[letter] |= 1 << i
		}
	}
	return e
})

// Detect returns the name of the analysis for the language of a text by its stop words
// and letters, or Plain. A word or letter of n languages counts 1/n for each.
func Detect(text string) string {
	if len(text) > maxDetected {
		cut := maxDetected
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	text = strings.ToLower(norm.NFKC.String(strings.ToValidUTF8(text, "\uFFFD")))
	known := detection()
	scores := make([]float64, len(detectable))
	count := func(of uint64) {
		share := 1 / float64(bits.OnesCount64(of))
		for ; of != 0; of &= of - 1 {
			scores[bits.TrailingZeros64(of)] += share
		}
	}
	words, letters := map[string]bool{}, map[rune]bool{}
	for _, token := range unicode.NewUnicodeTokenizer().Tokenize([]byte(text)) {
		if word := string(token.Term); !words[word] {
			words[word] = true
			count(known.words[word])
		}
	}
	for _, letter := range text {
		if of := known.letters[letter]; of != 0 && !letters[letter] {
			letters[letter] = true
			count(of)
		}
	}
	best := 0
	for i, score := range scores {
		if score > scores[best] {
			best = i
		}
	}
	if scores[best] == 0 {
		return Plain
	}
	return detectable[best].analysis
}
