package article

import "math"

// The score is the cosine of two vectors, with a weight for each term: how
// often it is in the text, as 1 + ln(times), multiplied by how rare it is among
// the N articles of the network and language, as log2(2N / articles that have
// it). A term that no article has counts as if one had.
//
// Both factors are whole numbers, of sixteenths and of eighths. So sums are
// exact: scores are a function of which articles there are, whatever the order
// of writes, and equal on every server. And the rarity of a term changes only
// when the number of its articles does by about a tenth, so that one more article
// changes few weights of the others.

// weighted is a term of a text.
type weighted struct {
	term   string
	weight uint8
}

// weigh gives the terms of counts, in any order.
func weigh(counts map[string]int) []weighted {
	terms := make([]weighted, 0, len(counts))
	for term, times := range counts {
		terms = append(terms, weighted{term, frequency(times)})
	}
	return terms
}

// frequency is 1 + ln(times) in sixteenths.
func frequency(times int) uint8 {
	if times == 1 {
		return 16
	}
	return uint8(min(math.Round(16*(1+math.Log(float64(times)))), math.MaxUint8))
}

// magnitude is log2(n) in eighths, and 0 for n = 0.
func magnitude(n int) int64 {
	if n < len(magnitudes) {
		return int64(magnitudes[n])
	}
	return eighths(n)
}

func eighths(n int) int64 { return int64(math.Round(8 * math.Log2(float64(n)))) }

// magnitudes has those of most terms, as writes ask for many.
var magnitudes = func() (table [4096]uint8) {
	for n := 1; n < len(table); n++ {
		table[n] = uint8(eighths(n))
	}
	return table
}()

// rarity is log2(2N / n) in eighths, from the magnitudes of N and n.
func rarity(all, having int64) int64 { return all + 8 - having }

// squares holds what the square of a vector's length is made of, for any number
// of articles: the sums of w², w²m and w²m² over its terms, where w is a
// term's frequency and m the magnitude of how many articles have it.
type squares struct{ w, wm, wmm int64 }

func (s *squares) add(frequency uint8, magnitude int64) {
	square := int64(frequency) * int64(frequency)
	s.w += square
	s.wm += square * magnitude
	s.wmm += square * magnitude * magnitude
}

// sum is that of (w (all + 8 - m))².
func (s *squares) sum(all int64) int64 {
	return (all+8)*(all+8)*s.w - 2*(all+8)*s.wm + s.wmm
}

// cosine is the score of two vectors with this product and these squared
// lengths.
func cosine(product, a, b int64) float64 {
	if product <= 0 || a <= 0 || b <= 0 {
		return 0
	}
	return rounded(float64(product) / (math.Sqrt(float64(a)) * math.Sqrt(float64(b))))
}

// rounded leaves out the decimals that rounding errors may reach, so that equal
// vectors score 1 and a score can be used as a threshold.
func rounded(score float64) float64 {
	return min(max(math.Round(score*1e9)/1e9, 0), 1)
}
