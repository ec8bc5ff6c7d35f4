package index

import (
	"cmp"
	"slices"
)

// queryVector is the vector of a sentence in a corpus.
type queryVector struct {
	// terms are in a fixed order, so that sums over them are equal on all servers.
	terms []queryTerm
	// square and fourth are the sums of the second and fourth powers of the weights.
	square, fourth float64
}

// queryTerm is a term of a sentence: its weight there, how rare it is, and the
// articles that have it.
type queryTerm struct {
	weight, rarity float64
	postings       []posting
}

// queryVector returns the vector of a sentence.
func (c *corpus) queryVector(analysis string, sentence []weighted) *queryVector {
	sentence = c.replaceUnknown(analysis, sentence)
	slices.SortFunc(sentence, func(a, b weighted) int { return cmp.Compare(a.term, b.term) })
	q, all := &queryVector{}, magnitude(c.size)
	for _, term := range sentence {
		var list []posting
		if id, known := c.ids[term.term]; known {
			list = c.postings[id]
		}
		rare := rarity(all, magnitude(len(list)))
		weight := float64(int64(term.weight) * rare)
		q.terms = append(q.terms, queryTerm{weight, float64(rare), list})
		q.square += weight * weight
		q.fourth += float64(weight * weight * weight * weight)
	}
	return q
}
