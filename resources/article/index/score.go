package index

import "math"

// The vectors of texts have a dimension for each term and for each pair of terms that
// occur together. A sentence and an article may share one of several words by chance,
// but rarely two. The weight of a pair is the product of the weights of its terms, in
// vectors of length 1, times the square root of pairing.
//
// A sentence describes only part of a long article. Therefore the terms of the article
// that are not in the sentence contribute only a share, restWeight, to its length, as
// if they were one more term. The vectors of equal texts are equal nevertheless.
const (
	pairing    = 32
	restWeight = 0.03
)

// middle is the cosine with the score 0.5. It was chosen, like pairing and restWeight,
// with the tuning sentences of package judged.
const middle = 0.31

// calibrated returns the score for a cosine. Above middle, scores rise linearly to 1;
// below it, they fall with the fifth power of the cosine, so that words shared by
// chance score almost nothing.
func calibrated(cosine float64) float64 {
	if cosine >= middle {
		return rounded((1 + (cosine-middle)/(1-middle)) / 2)
	}
	part := cosine / middle
	square := part * part
	return rounded(square * square * part / 2)
}

// overlap has sums over the terms of a sentence that an article shares: of s·a, a², a⁴
// and (s·a)², where s and a are the weights of a term in the sentence and the article.
type overlap struct{ product, square, fourth, products float64 }

// overlap computes the overlap of each article with a sentence, by slot.
func (c *corpus) overlap(sentence *queryVector, overlaps []overlap) {
	for _, term := range sentence.terms {
		for _, p := range term.postings {
			weight := term.rarity * float64(p.frequency())
			product, square := term.weight*weight, weight*weight
			with := &overlaps[p.slot()]
			// The conversions prevent fused operations, whose rounding depends on the
			// processor.
			with.product += float64(product)
			with.square += float64(square)
			with.fourth += float64(square * square)
			with.products += float64(product * product)
		}
	}
}

// whole returns the squared length of an article's vector of single terms, given the
// sum of the squared weights of all its terms.
func (o *overlap) whole(all int64) float64 {
	return o.square + restWeight*max(0, float64(all)-o.square)
}

// cosine returns the cosine of the angle between the vectors of a sentence and an
// article.
func (o *overlap) cosine(sentence *queryVector, whole float64) float64 {
	if o.product == 0 {
		return 0
	}
	both := sentence.square * whole
	terms := o.product * o.product / both
	// Σ xy over the pairs of different terms is half of (Σ x)² - Σ x².
	product := math.Sqrt(terms) + pairing*(terms-o.products/both)/2
	length := 1 + pairing*(o.square*o.square-o.fourth)/(whole*whole)/2
	return min(product/math.Sqrt(sentence.length()*length), 1)
}

// length returns the squared length of the vector.
func (q *queryVector) length() float64 {
	return 1 + pairing*(1-q.fourth/(q.square*q.square))/2
}

// least returns a lower bound of the squared product, relative to the squared lengths,
// for scores that reach a threshold: the pairs of an article are at least as long as
// those of the sentence, and their product is at most that of the terms. The bound
// rules out most articles that share only frequent words with a sentence.
func (q *queryVector) least(threshold float64) float64 {
	cosine := middle + (2*threshold-1)*(1-middle)
	if threshold < 0.5 {
		cosine = middle * math.Pow(2*threshold, 0.2)
	}
	// The root of x + pairing/2 x² = cosine * √length.
	root := (math.Sqrt(1+2*pairing*cosine*math.Sqrt(q.length())) - 1) / pairing
	return root * root * (1 - 1e-6)
}
