// Package language turns texts into terms: it detects languages, stems words and drops
// stop words. It imports nothing of the project; begin with Analyzer.
package language

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxTerms is the maximum number of distinct terms of a text. No real text has
	// more; it bounds the memory for noise.
	maxTerms = 1 << 14
	// MaxWord is the maximum length of a word in bytes. Longer words are replaced by
	// their digests.
	MaxWord = 128
	// maxKnown is the number of words whose terms an analyzer caches.
	maxKnown = 1 << 16
)

// Analyzer turns the texts of a language into terms. It caches the terms of words, and
// is safe for concurrent use.
type Analyzer struct {
	pipeline *analysis.DefaultAnalyzer
	// stop has the stop words without accents.
	stop map[string]bool
	// common has the terms of common words.
	common map[string]bool
	mu     sync.RWMutex
	known  map[string][]string
}

// pairs turns text without spaces into overlapping pairs of characters.
var pairs = cjk.NewCJKBigramFilter(false)

// IsCommon reports whether a term is that of a word that occurs in texts on any
// subject.
func (a *Analyzer) IsCommon(term string) bool { return a.common[term] }

// Counts returns the number of occurrences of each term in a text. If the text has
// only stop words, these are its terms, and without any words its symbols are, so that
// only a blank text has no terms.
func (a *Analyzer) Counts(text string) map[string]int {
	input := []byte(norm.NFKC.String(strings.ToValidUTF8(text, "\uFFFD")))
	for _, filter := range a.pipeline.CharFilters {
		input = filter.Filter(input)
	}
	tokens := a.pipeline.Tokenizer.Tokenize(input)
	counts := make(map[string]int, min(len(tokens), 256))
	add := func(term string) {
		if _, counted := counts[term]; term != "" && (counted || len(counts) < maxTerms) {
			counts[term]++
		}
	}
	a.each(spaced(tokens), add)
	leftOver(input, tokens, unicode.IsLetter, add)
	if len(counts) == 0 {
		for _, token := range tokens {
			add(bounded([]byte(fold(string(bytes.ToLower(token.Term))))))
		}
	}
	if len(counts) == 0 {
		leftOver(input, nil, unicode.IsGraphic, add)
	}
	return counts
}

// each calls add for the terms of tokens.
func (a *Analyzer) each(tokens analysis.TokenStream, add func(string)) {
	var unknown [][]byte
	a.mu.RLock()
	for _, token := range tokens {
		if token.Type == analysis.Double || token.Type == analysis.Single || len(token.Term) > MaxWord {
			add(bounded(token.Term))
		} else if terms, known := a.known[string(token.Term)]; known {
			for _, term := range terms {
				add(term)
			}
		} else {
			unknown = append(unknown, token.Term)
		}
	}
	a.mu.RUnlock()
	if len(unknown) == 0 {
		return
	}
	learned := make(map[string][]string, len(unknown))
	for _, word := range unknown {
		terms, done := learned[string(word)]
		if !done {
			terms = a.Terms(word)
			learned[string(word)] = terms
		}
		for _, term := range terms {
			add(term)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for word, terms := range learned {
		if len(a.known) >= maxKnown {
			clear(a.known)
		}
		a.known[word] = terms
	}
}

// Terms returns the terms of a word: none for a stop word, otherwise its stem without
// accents. Some stemmers recognise an ending only by its accents. Therefore the stem of
// the word written without accents is a second term, if it differs, which both
// spellings share.
func (a *Analyzer) Terms(word []byte) []string {
	term := fold(a.stem(word))
	lower := string(bytes.ToLower(word))
	bare := fold(lower)
	if term == "" || bare == lower && a.stop[bare] {
		return nil
	}
	if bare == lower {
		return []string{term}
	}
	if other := fold(a.stem([]byte(bare))); other != "" && other != term {
		return []string{term, other}
	}
	return []string{term}
}

// stem returns the stem of a word, or "" for a stop word.
func (a *Analyzer) stem(word []byte) string {
	// The filters modify their input.
	stream := analysis.TokenStream{{Term: bytes.Clone(word), Start: 0, End: len(word), Position: 1}}
	for _, filter := range a.pipeline.TokenFilters {
		stream = filter.Filter(stream)
	}
	var term strings.Builder
	for _, token := range stream {
		term.Write(token.Term)
	}
	return term.String()
}

// spaced combines ideographs and syllables among tokens into pairs.
func spaced(tokens analysis.TokenStream) analysis.TokenStream {
	for _, token := range tokens {
		if token.Type == analysis.Ideographic {
			return pairs.Filter(tokens)
		}
	}
	return tokens
}

// leftOver adds the pairs of characters of one kind that are in no token, because
// segmentation omits some scripts of South East Asia. Tokens must be in order.
func leftOver(input []byte, tokens analysis.TokenStream, kind func(rune) bool, add func(string)) {
	from := 0
	for i := 0; i <= len(tokens); i++ {
		end, next := len(input), len(input)
		if i < len(tokens) {
			end, next = tokens[i].Start, tokens[i].End
		}
		if from < end {
			characterPairs(string(input[from:end]), kind, add)
		}
		from = next
	}
}

// characterPairs adds every two adjacent characters of one kind, and single ones. A mark
// belongs to the character before it.
func characterPairs(text string, kind func(rune) bool, add func(string)) {
	// starts are where the characters of a run begin.
	var starts []int
	end := func(at int) {
		for i := range starts {
			until := at
			if i+2 < len(starts) {
				until = starts[i+2]
			}
			if i+1 < len(starts) || i == 0 {
				add(bounded([]byte(text[starts[i]:until])))
			}
		}
		starts = starts[:0]
	}
	for at, r := range text {
		switch {
		case unicode.IsMark(r) && len(starts) > 0:
		case kind(r) && !unicode.IsSpace(r):
			starts = append(starts, at)
		default:
			end(at)
		}
	}
	end(len(text))
}

// bounded returns a word, or the digest of a long one.
func bounded(word []byte) string {
	if len(word) <= MaxWord {
		return string(word)
	}
	digest := sha256.Sum256(word)
	return string(digest[:])
}
