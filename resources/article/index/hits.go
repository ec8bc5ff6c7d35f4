package index

import (
	"cmp"
	"container/heap"
	"slices"
)

// topHits collects the best hits and counts all.
type topHits struct {
	limit int
	hits  worstFirst
	total int
}

// offer counts a hit, and keeps it if it is among the best.
func (b *topHits) offer(hit Hit) {
	b.total++
	switch {
	case len(b.hits) < b.limit:
		heap.Push(&b.hits, hit)
	case b.limit > 0 && compare(hit, b.hits[0]) < 0:
		b.hits[0] = hit
		heap.Fix(&b.hits, 0)
	}
}

func (b *topHits) result() Result {
	slices.SortFunc(b.hits, compare)
	return Result{Hits: b.hits, Total: b.total}
}

// compare orders better hits first.
func compare(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
}

// worstFirst is a heap with the worst hit at the top.
type worstFirst []Hit

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return compare(h[i], h[j]) > 0 }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstFirst) Push(hit any)      { *h = append(*h, hit.(Hit)) }

func (h *worstFirst) Pop() any {
	last := len(*h) - 1
	hit := (*h)[last]
	*h = (*h)[:last]
	return hit
}

// outdoes reports whether limit hits are better than a score.
func (b *topHits) outdoes(score float64) bool {
	return len(b.hits) >= b.limit && (b.limit <= 0 || b.hits[0].Score > score)
}
