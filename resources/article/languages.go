package article

import (
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/ar"
	"github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	"github.com/blevesearch/bleve/v2/analysis/lang/da"
	"github.com/blevesearch/bleve/v2/analysis/lang/de"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/lang/es"
	"github.com/blevesearch/bleve/v2/analysis/lang/fa"
	"github.com/blevesearch/bleve/v2/analysis/lang/fi"
	"github.com/blevesearch/bleve/v2/analysis/lang/fr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hi"
	"github.com/blevesearch/bleve/v2/analysis/lang/hr"
	"github.com/blevesearch/bleve/v2/analysis/lang/hu"
	"github.com/blevesearch/bleve/v2/analysis/lang/it"
	"github.com/blevesearch/bleve/v2/analysis/lang/nl"
	"github.com/blevesearch/bleve/v2/analysis/lang/no"
	"github.com/blevesearch/bleve/v2/analysis/lang/pl"
	"github.com/blevesearch/bleve/v2/analysis/lang/pt"
	"github.com/blevesearch/bleve/v2/analysis/lang/ro"
	"github.com/blevesearch/bleve/v2/analysis/lang/ru"
	"github.com/blevesearch/bleve/v2/analysis/lang/sv"
	"github.com/blevesearch/bleve/v2/analysis/lang/tr"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/registry"
	"golang.org/x/text/language"
)

// plain is the analysis of articles in other languages, or in none that is
// known: words in lower case, with neither stop words nor stems.
const plain = ""

// named are the analyses that know a language, by the language's base tag.
var named = map[string]string{
	"ar": ar.AnalyzerName, "ckb": ckb.AnalyzerName, "da": da.AnalyzerName,
	"de": de.AnalyzerName, "en": en.AnalyzerName, "es": es.AnalyzerName,
	"fa": fa.AnalyzerName, "fi": fi.AnalyzerName, "fr": fr.AnalyzerName,
	"hi": hi.AnalyzerName, "hr": hr.AnalyzerName, "hu": hu.AnalyzerName,
	"it": it.AnalyzerName, "nl": nl.AnalyzerName, "no": no.AnalyzerName,
	"nb": no.AnalyzerName, "nn": no.AnalyzerName, "pl": pl.AnalyzerName,
	"pt": pt.AnalyzerName, "ro": ro.AnalyzerName, "ru": ru.AnalyzerName,
	"sv": sv.AnalyzerName, "tr": tr.AnalyzerName,
}

// analysisOf finds the name of the analysis for a language tag. Regions and
// scripts make no difference.
func analysisOf(tag string) string {
	if tag == "" {
		return plain
	}
	parsed, err := language.Parse(tag)
	if err != nil {
		return plain
	}
	base, _ := parsed.Base()
	return named[base.String()]
}

// analyzers are made when first needed, and kept: each has the tables of its
// language.
var analyzers = struct {
	sync.Mutex
	cache *registry.Cache
	made  map[string]*analyzer
}{cache: registry.NewCache(), made: map[string]*analyzer{}}

// analyzerNamed is the analyzer of a name that analysisOf gave.
func analyzerNamed(name string) *analyzer {
	analyzers.Lock()
	defer analyzers.Unlock()
	if made := analyzers.made[name]; made != nil {
		return made
	}
	pipeline := &analysis.DefaultAnalyzer{
		Tokenizer:    unicode.NewUnicodeTokenizer(),
		TokenFilters: []analysis.TokenFilter{lowercase.NewLowerCaseFilter()},
	}
	if name != plain {
		// Every name is registered by its package, so that neither can fail.
		found, err := analyzers.cache.AnalyzerNamed(name)
		if err != nil {
			panic("article: " + err.Error())
		}
		pipeline = found.(*analysis.DefaultAnalyzer)
	}
	made := &analyzer{pipeline: pipeline, known: map[string]string{}}
	analyzers.made[name] = made
	return made
}
