package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// benchNetwork has articles with vectors of noise.
func benchNetwork(articles, dimension int) *denseNetwork {
	random := rand.New(rand.NewPCG(1, 1))
	network := &denseNetwork{slots: map[string]int{}}
	for n := range articles {
		network.articles = append(network.articles, &embedded{entry: &Entry{ID: fmt.Sprint(n)}, digest: digest{1}, vector: noise(random, dimension)})
	}
	return network
}

func noise(random *rand.Rand, dimension int) vector {
	embedding := make([]float64, dimension)
	for i := range embedding {
		embedding[i] = random.NormFloat64()
	}
	return newVector(embedding)
}

type constant []float64

func (c constant) Batch() int { return 1 }

func (c constant) Embed(context.Context, []string) ([][]float64, error) { return [][]float64{c}, nil }

// BenchmarkDense100k also compares with one goroutine that computes every
// score exactly, in the same run.
func BenchmarkDense100k(b *testing.B) {
	for _, dimension := range []int{384, 768} {
		network := benchNetwork(100_000, dimension)
		sentence := make(constant, dimension)
		for i, x := range network.articles[7].vector {
			sentence[i] = float64(x)
		}
		dense := NewDense(sentence)
		dense.networks["n"] = network
		for _, threshold := range []float64{0.5, 0} {
			query := Query{Sentence: "x", Threshold: threshold, Limit: 20}
			b.Run(fmt.Sprintf("%d-from-%v", dimension, threshold), func(b *testing.B) {
				for b.Loop() {
					if _, err := dense.Search(context.Background(), "n", query); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				begin := time.Now()
				found := topHits{limit: query.Limit}
				for _, article := range network.articles {
					if score := cosine(network.articles[7].vector, article.vector); score >= query.Threshold {
						found.offer(Hit{ID: article.entry.ID, Score: score})
					}
				}
				b.ReportMetric(float64(time.Since(begin))*float64(b.N)/float64(b.Elapsed()), "times-faster-than-naive")
			})
		}
	}
}
