package index_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/resources/article/index"
)

const (
	benchArticles = 100_000
	benchWords    = 200_000
)

// writer writes texts whose words are as frequent as those of a language: the
// n-th word in proportion to 1/n.
type writer struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newWriter(seed uint64) *writer {
	random := rand.New(rand.NewPCG(seed, 1))
	return &writer{random, rand.NewZipf(random, 1.07, 4, benchWords-1)}
}

var syllables = strings.Fields("ba te ring no sel ka mer ing vi ler ne so dak fo hi lum")

func nthWord(n uint64) string {
	word := ""
	for n += 16; n > 0; n /= 16 {
		word += syllables[n%16]
	}
	return word
}

func (w *writer) text(words int) string {
	var text strings.Builder
	for range words {
		text.WriteString(nthWord(w.zipf.Uint64()))
		text.WriteByte(' ')
	}
	return text.String()
}

func (w *writer) article(n int) index.Article {
	return index.Article{
		Network: "main", Language: "en", Text: w.text(300 + w.random.IntN(201)),
		Entry: index.Entry{
			ID: fmt.Sprintf("article-%06d", n), Site: fmt.Sprintf("site-%d", n%50),
			URL: fmt.Sprintf("https://www%d.example.com/%d", n%50, n),
		},
	}
}

// heap is the memory in use, in MB.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / 1e6
}

// load fills an index on all cores, and reports what that takes.
func load(b *testing.B, articles index.Index) {
	b.Helper()
	before, begin := heap(), time.Now()
	var wait sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for core := range cores {
		wait.Go(func() {
			w := newWriter(uint64(core))
			for n := core; n < benchArticles; n += cores {
				if err := articles.Put(w.article(n)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wait.Wait()
	b.Logf("%d articles: loaded in %.1f s, with the making of their texts; %.0f MB", benchArticles, time.Since(begin).Seconds(), heap()-before)
}

// common are the sentences that a search is measured with.
func sentences() map[string]string {
	frequent := make([]string, 20)
	for i := range frequent {
		frequent[i] = nthWord(uint64(i))
	}
	w := newWriter(99)
	return map[string]string{"sentence": w.text(12), "common": strings.Join(frequent, " "), "article": w.text(400)}
}

func BenchmarkSearch100k(b *testing.B) {
	articles := index.NewTerms(0)
	load(b, articles)
	search := func(b *testing.B, query index.Query) {
		for b.Loop() {
			if _, err := articles.Search(context.Background(), "main", query); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, sentence := range sentences() {
		b.Run(name, func(b *testing.B) {
			search(b, index.Query{Sentence: sentence, Threshold: 0.1, Limit: 20})
		})
		b.Run(name+"-filter-0", func(b *testing.B) {
			search(b, index.Query{Sentence: sentence, Limit: 20, Filter: func(e *index.Entry) bool { return e.Site == "site-7" }})
		})
	}
	b.Run("writes", func(b *testing.B) { duringWrites(b, articles, sentences()["common"]) })
}

// duringWrites reports the slowest search and the median while 1,000 articles
// are written.
func duringWrites(b *testing.B, articles index.Index, sentence string) {
	for b.Loop() {
		done := make(chan time.Duration)
		go func() {
			w := newWriter(7)
			begin := time.Now()
			for n := range 1000 {
				if err := articles.Put(w.article(n)); err != nil {
					b.Error(err)
				}
			}
			done <- time.Since(begin)
		}()
		var took []time.Duration
		for writing := true; writing; {
			select {
			case all := <-done:
				b.ReportMetric(all.Seconds()*1000, "ms/1000-puts")
				writing = false
			default:
				begin := time.Now()
				if _, err := articles.Search(context.Background(), "main", index.Query{Sentence: sentence, Threshold: 0.1, Limit: 20}); err != nil {
					b.Error(err)
				}
				took = append(took, time.Since(begin))
			}
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/median-search")
		b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms/slowest-search")
	}
}
