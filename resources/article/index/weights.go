package index

import (
	"math"

	"marquee/resources/article/language"
)

// The weight of a term in a text is the product of its frequency, 1 + ln(occurrences),
// and its rarity among the N articles of the network and language, log2(2N / articles
// with the term). A term of no article counts as if one article had it.
//
// The factors are integers, in sixteenths and eighths, so that sums are exact: scores
// depend only on the set of articles, not on the order of writes or the server. The
// rarity of a term changes only when its number of articles changes by about a tenth,
// so that a new article changes few weights of others.

// weighted is a term of a text with its weight.
type weighted struct {
	term   string
	weight uint8
}

// weigh returns the terms of counts in any order. Common words have a third of the
// weight.
func weigh(a *language.Analyzer, counts map[string]int) []weighted {
	terms := make([]weighted, 0, len(counts))
	for term, times := range counts {
		weight := frequency(times)
		if a.IsCommon(term) {
			weight /= 3
		}
		terms = append(terms, weighted{term, weight})
	}
	return terms
}

// frequency returns 1 + ln(times) in sixteenths.
func frequency(times int) uint8 {
	if times == 1 {
		return 16
	}
	return uint8(min(math.Round(16*(1+math.Log(float64(times)))), math.MaxUint8))
}

// magnitude returns log2(n) in eighths, and 0 for n = 0.
func magnitude(n int) int64 {
	if n < len(magnitudes) {
		return int64(magnitudes[n])
	}
	return eighths(n)
}

func eighths(n int) int64 { return int64(math.Round(8 * math.Log2(float64(n)))) }

// magnitudes caches the magnitudes of most terms, since writes need many.
var magnitudes = func() (table [4096]uint8) {
	for n := 1; n < len(table); n++ {
		table[n] = uint8(eighths(n))
	}
	return table
}()

// rarity returns log2(2N / n) in eighths, given the magnitudes of N and n.
func rarity(all, having int64) int64 { return all + 8 - having }

// squares has the sums from which the squared length of a vector follows for any number
// of articles: those of w², w²m and w²m² over its terms, where w is the frequency of a
// term and m the magnitude of its number of articles.
type squares struct{ w, wm, wmm int64 }

func (s *squares) add(frequency uint8, magnitude int64) {
	square := int64(frequency) * int64(frequency)
	s.w += square
	s.wm += square * magnitude
	s.wmm += square * magnitude * magnitude
}

// sum returns the sum of (w (all + 8 - m))².
func (s *squares) sum(all int64) int64 {
	return (all+8)*(all+8)*s.w - 2*(all+8)*s.wm + s.wmm
}

// rounded drops the decimals affected by rounding errors, so that equal vectors score 1
// and a score can be used as a threshold.
func rounded(score float64) float64 {
	return min(max(math.Round(score*1e9)/1e9, 0), 1)
}
