package article

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
	// maxTerms is how many different terms of a text count: more than any text
	// in words has, so that a text of noise has no more weight in memory.
	maxTerms = 1 << 14
	// maxWord is how long a word may be, in bytes, and still be one of a
	// language. A longer one is kept as its digest.
	maxWord = 128
	// maxKnown is how many words an analyzer remembers the terms of.
	maxKnown = 1 << 16
)

// analyzer makes terms of the texts of a language. Words come in few forms, so
// it remembers what they become. It may be used concurrently.
type analyzer struct {
	pipeline *analysis.DefaultAnalyzer
	mu       sync.RWMutex
	known    map[string]string
}

// pairs makes of writing without spaces its overlapping pairs of characters.
var pairs = cjk.NewCJKBigramFilter(false)

// counts says how often each term is in a text. It depends on nothing but the
// text and the analyzer. A text that has but stop words consists of these, and
// one that has no words of its symbols, so that only a blank text has no terms.
func (a *analyzer) counts(text string) map[string]int {
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
			add(bounded(bytes.ToLower(token.Term)))
		}
	}
	if len(counts) == 0 {
		leftOver(input, nil, unicode.IsGraphic, add)
	}
	return counts
}

// each calls add for the terms of the tokens, which are empty for stop words.
func (a *analyzer) each(tokens analysis.TokenStream, add func(string)) {
	var unknown [][]byte
	a.mu.RLock()
	for _, token := range tokens {
		if token.Type == analysis.Double || token.Type == analysis.Single || len(token.Term) > maxWord {
			add(bounded(token.Term))
		} else if term, known := a.known[string(token.Term)]; known {
			add(term)
		} else {
			unknown = append(unknown, token.Term)
		}
	}
	a.mu.RUnlock()
	if len(unknown) == 0 {
		return
	}
	terms := make(map[string]string, len(unknown))
	for _, word := range unknown {
		term, done := terms[string(word)]
		if !done {
			term = a.term(word)
			terms[string(word)] = term
		}
		add(term)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for word, term := range terms {
		if len(a.known) >= maxKnown {
			clear(a.known)
		}
		a.known[word] = term
	}
}

// term is what a word becomes, empty for a stop word.
func (a *analyzer) term(word []byte) string {
	// The filters write into the words that they are given.
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

// spaced makes pairs of the ideographs and syllables among the tokens.
func spaced(tokens analysis.TokenStream) analysis.TokenStream {
	for _, token := range tokens {
		if token.Type == analysis.Ideographic {
			return pairs.Filter(tokens)
		}
	}
	return tokens
}

// leftOver adds the pairs of characters that are of a kind and in no token:
// there are scripts of South East Asia that segmentation by rules leaves out.
// Tokens are in order.
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

// characterPairs adds each two neighbours of a kind, and one that has none. A
// mark belongs to the character before it.
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

// bounded is a word, or its digest if it is long.
func bounded(word []byte) string {
	if len(word) <= maxWord {
		return string(word)
	}
	digest := sha256.Sum256(word)
	return string(digest[:])
}
