package language

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/char/zerowidthnonjoiner"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/bg"
	"github.com/blevesearch/bleve/v2/analysis/lang/ca"
	"github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	"github.com/blevesearch/bleve/v2/analysis/lang/cs"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/el"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/eu"
	"github.com/blevesearch/bleve/v2/analysis/lang/fa"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/ga"
	"github.com/blevesearch/bleve/v2/analysis/lang/gl"
	"github.com/blevesearch/bleve/v2/analysis/lang/hi"
	"github.com/blevesearch/bleve/v2/analysis/lang/hr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/hy"
	"github.com/blevesearch/bleve/v2/analysis/lang/id"
	"github.com/blevesearch/bleve/v2/analysis/lang/in"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pl"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"
	"github.com/blevesearch/bleve/v2/analysis/token/apostrophe"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/registry"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/tamil"
	"golang.org/x/text/language"
)

// Plain is the analysis for unknown languages: words in lower case, with neither stop
// words nor stemming.
const Plain = ""

// reading is how the lower-case words of a language are analysed.
type reading struct {
	// filters are the names of the bleve filters in order.
	filters []string
	// stop is the filter that removes stop words.
	stop string
	// last is a filter after the others, if any.
	last analysis.TokenFilter
	// characters is the name of a bleve filter for characters, if any.
	characters string
}

// languages has the reading of every language with stop words or a stemmer, by its
// base tag, which is the name of the analysis.
var languages = map[string]reading{
	"ar":  {filters: []string{ar.StopName, ar.NormalizeName, ar.StemmerName}, stop: ar.StopName},
	"bg":  {filters: []string{bg.StopName}, stop: bg.StopName},
	"ca":  {filters: []string{ca.ElisionName, ca.StopName}, stop: ca.StopName},
	"ckb": {filters: []string{ckb.NormalizeName, ckb.StopName, ckb.StemmerName}, stop: ckb.StopName},
	"cs":  {filters: []string{cs.StopName}, stop: cs.StopName},
	// In Danish, Dutch, Norwegian and Swedish, a word without its ending may have
	// another stem: vinteren, vinter, vint.
	"da": {filters: []string{da.StopName, da.SnowballStemmerName, da.SnowballStemmerName}, stop: da.StopName, last: definite{}},
	"de": {filters: []string{de.StopName, de.NormalizeName, de.SnowballStemmerName}, stop: de.StopName},
	"el": {filters: []string{el.StopName}, stop: el.StopName},
	"en": {filters: []string{en.PossessiveName, en.StopName, en.SnowballStemmerName}, stop: en.StopName},
	"es": {filters: []string{es.StopName, es.SnowballStemmerName}, stop: es.StopName},
	"eu": {filters: []string{eu.StopName}, stop: eu.StopName},
	"fa": {filters: []string{ar.NormalizeName, fa.NormalizeName, fa.StopName}, stop: fa.StopName, characters: zerowidthnonjoiner.Name},
	"fi": {filters: []string{fi.StopName, fi.SnowballStemmerName}, stop: fi.StopName},
	"fr": {filters: []string{fr.ElisionName, fr.StopName, fr.SnowballStemmerName}, stop: fr.StopName},
	"ga": {filters: []string{ga.ElisionName, ga.StopName}, stop: ga.StopName, last: snowball(irish.Stem)},
	"gl": {filters: []string{gl.StopName}, stop: gl.StopName},
	"hi": {filters: []string{in.NormalizeName, hi.NormalizeName, hi.StopName, hi.StemmerName}, stop: hi.StopName},
	"hr": {filters: []string{hr.StopName, hr.SuffixTransformationFilterName, hr.StemmerName}, stop: hr.StopName},
	"hu": {filters: []string{hu.StopName, hu.SnowballStemmerName}, stop: hu.StopName},
	"hy": {filters: []string{hy.StopName}, stop: hy.StopName},
	"id": {filters: []string{id.StopName}, stop: id.StopName},
	"it": {filters: []string{it.ElisionName, it.StopName, it.SnowballStemmerName}, stop: it.StopName},
	"nl": {filters: []string{nl.StopName, nl.SnowballStemmerName, nl.SnowballStemmerName}, stop: nl.StopName},
	"no": {filters: []string{no.StopName, no.SnowballStemmerName, no.SnowballStemmerName}, stop: no.StopName, last: definite{}},
	"pl": {filters: []string{pl.StopName, pl.SnowballStemmerName}, stop: pl.StopName},
	"pt": {filters: []string{pt.StopName, pt.LightStemmerName}, stop: pt.StopName},
	"ro": {filters: []string{ro.StopName, ro.SnowballStemmerName}, stop: ro.StopName},
	"ru": {filters: []string{ru.StopName, ru.SnowballStemmerName}, stop: ru.StopName},
	"sv": {filters: []string{sv.StopName, sv.SnowballStemmerName, sv.SnowballStemmerName}, stop: sv.StopName},
	"ta": {filters: []string{in.NormalizeName}, last: snowball(tamil.Stem)},
	"tr": {filters: []string{apostrophe.Name, tr.StopName, tr.SnowballStemmerName}, stop: tr.StopName},
}

// HasCompounds reports whether a language writes compounds as one word.
func HasCompounds(name string) bool {
	switch name {
	case "da", "de", "fi", "nl", "no", "sv":
		return true
	}
	return false
}

// Of returns the name of the analysis for a language tag, or Plain. It ignores regions
// and scripts.
func Of(tag string) string {
	parsed, err := language.Parse(tag)
	if err != nil {
		return Plain
	}
	base, _ := parsed.Base()
	name := base.String()
	if name == "nb" || name == "nn" {
		name = "no"
	}
	if _, known := languages[name]; !known {
		return Plain
	}
	return name
}

// analyzers caches the analyzers, each of which has the tables of its language.
var analyzers = struct {
	sync.Mutex
	cache *registry.Cache
	made  map[string]*Analyzer
}{cache: registry.NewCache(), made: map[string]*Analyzer{}}

// Named returns the analyzer with a name that Of or Detect returned.
func Named(name string) *Analyzer {
	analyzers.Lock()
	defer analyzers.Unlock()
	made := analyzers.made[name]
	if made == nil {
		made = newAnalyzer(analyzers.cache, languages[name])
		made.common = made.commonTerms(common[name])
		analyzers.made[name] = made
	}
	return made
}

func newAnalyzer(cache *registry.Cache, r reading) *Analyzer {
	a := &Analyzer{
		pipeline: &analysis.DefaultAnalyzer{
			Tokenizer:    unicode.NewUnicodeTokenizer(),
			TokenFilters: []analysis.TokenFilter{lowercase.NewLowerCaseFilter()},
		},
		stop: map[string]bool{}, known: map[string][]string{},
	}
	for _, name := range r.filters {
		a.pipeline.TokenFilters = append(a.pipeline.TokenFilters, registered(cache.TokenFilterNamed(name)))
	}
	if r.last != nil {
		a.pipeline.TokenFilters = append(a.pipeline.TokenFilters, r.last)
	}
	if r.characters != "" {
		a.pipeline.CharFilters = append(a.pipeline.CharFilters, registered(cache.CharFilterNamed(r.characters)))
	}
	if r.stop != "" {
		for word := range registered(cache.TokenMapNamed(r.stop)) {
			a.stop[fold(word)] = true
		}
	}
	return a
}

// registered returns a value that an imported package of bleve has registered.
func registered[T any](value T, err error) T {
	if err != nil {
		panic("article: " + err.Error())
	}
	return value
}

// snowball adapts a stemmer to a filter of bleve.
type snowball func(*snowballstem.Env) bool

func (stem snowball) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, token := range input {
		env := snowballstem.NewEnv(string(token.Term))
		stem(env)
		token.Term = []byte(env.Current())
	}
	return input
}

// definite removes the endings of Danish and Norwegian nouns like by and snø,
// which are too short for the Snowball stemmers: byen, byer, byene.
type definite struct{}

const vowels = "aeiouyæøå"

func (definite) Filter(input analysis.TokenStream) analysis.TokenStream {
	for _, token := range input {
		word := string(token.Term)
		if utf8.RuneCountInString(word) > 6 {
			continue
		}
		for _, ending := range []string{"ene", "en", "et", "er", "an", "ar"} {
			noun, ends := strings.CutSuffix(word, ending)
			if last, _ := utf8.DecodeLastRuneInString(noun); ends && utf8.RuneCountInString(noun) >= 2 && strings.ContainsRune(vowels, last) {
				token.Term = []byte(noun)
				break
			}
		}
	}
	return input
}
