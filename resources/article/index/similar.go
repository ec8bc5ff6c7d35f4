package index

import (
	"cmp"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"marquee/resources/article/language"
)

const (
	// maxUnknown is the maximum number of terms of a sentence that are replaced.
	maxUnknown = 32
	// familyLetters is the number of first letters that the terms of a family share.
	familyLetters = 5
	// endingLetters is the maximum number of last letters in which similar terms
	// differ.
	endingLetters = 2
	// partLetters is the minimum number of letters of a part of a compound.
	partLetters = 3
)

// replaceUnknown replaces terms of a sentence that no article has by two terms of
// reduced weight. Stemmers know endings, but not which words are derived from others
// (turista, turismo) or composed of others (Wohnungseinbruch); the terms of articles
// show that. Similar words are not the same, so that the term itself remains as one of
// the two.
func (c *corpus) replaceUnknown(analysis string, sentence []weighted) []weighted {
	var terms, unknown []weighted
	for _, term := range sentence {
		if _, known := c.ids[term.term]; known {
			terms = append(terms, term)
		} else {
			unknown = append(unknown, term)
		}
	}
	slices.SortFunc(unknown, func(a, b weighted) int { return cmp.Compare(a.term, b.term) })
	for i, term := range unknown {
		parts := []string{term.term}
		if i < maxUnknown {
			if similar := c.similarTo(term.term); similar != "" {
				parts = []string{similar, term.term}
			} else if language.HasCompounds(analysis) {
				parts = splitCompound(term.term, language.Named(analysis), func(term string) bool {
					_, known := c.ids[term]
					return known
				})
			}
		}
		for _, part := range parts {
			if !slices.ContainsFunc(terms, func(t weighted) bool { return t.term == part }) {
				terms = append(terms, weighted{part, uint8(float64(term.weight) / math.Sqrt(float64(len(parts))))})
			}
		}
	}
	return terms
}

// family returns the first letters of a term, or "" if it is short or has characters
// other than letters.
func family(term string) string {
	letters, end := 0, 0
	for at, r := range term {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			return ""
		}
		if letters++; letters <= familyLetters {
			end = at + utf8.RuneLen(r)
		}
	}
	if letters < familyLetters {
		return ""
	}
	return term[:end]
}

// similarTo returns the term of articles that differs from a term only in its ending,
// or "". Of several, it prefers the most similar one, then the one of most articles.
func (c *corpus) similarTo(term string) string {
	best, similar := 0, ""
	for _, id := range c.families[family(term)] {
		name := c.names[id]
		same := commonLetters(term, name)
		if longest := max(utf8.RuneCountInString(term), utf8.RuneCountInString(name)); same < longest-endingLetters || same < best {
			continue
		}
		if same == best {
			if order := cmp.Compare(len(c.postings[id]), len(c.postings[c.ids[similar]])); order < 0 || order == 0 && name > similar {
				continue
			}
		}
		best, similar = same, name
	}
	return similar
}

// commonLetters returns the length of the common beginning of two terms in letters.
func commonLetters(a, b string) (letters int) {
	for at, r := range a {
		if other, _ := utf8.DecodeRuneInString(b[at:]); at >= len(b) || other != r {
			break
		}
		letters++
	}
	return letters
}

// splitCompound splits a compound into two terms, at least one of them known, so that
// the known terms are longest. It returns the compound if it cannot be split.
func splitCompound(compound string, a *language.Analyzer, known func(term string) bool) []string {
	longest, parts := 0, []string{compound}
	if len(compound) > language.MaxWord {
		return parts
	}
	for at := range compound {
		front, back := compound[:at], compound[at:]
		if utf8.RuneCountInString(front) < partLetters || utf8.RuneCountInString(back) < partLetters {
			continue
		}
		letters, both := 0, []string{}
		for _, part := range []string{front, back} {
			terms := a.Terms([]byte(part))
			if len(terms) == 0 {
				break // a stop word is no part
			}
			if known(terms[0]) {
				letters += len(part)
			}
			both = append(both, terms[0])
		}
		if letters > longest && len(both) == 2 {
			longest, parts = letters, both
		}
	}
	return parts
}
