package article

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

func sameMemory(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

// reference computes scores as weights.go says they are, from all articles
// anew and with neither postings nor sums that are kept.
type reference map[string]Article

func (r reference) search(sentence string, threshold float64) []Hit {
	var hits []Hit
	for _, article := range r {
		analysis := analysisOf(article.Language)
		all, having := 0, map[string]int{}
		for _, other := range r {
			if analysisOf(other.Language) == analysis {
				all++
				for term := range analyzerNamed(analysis).counts(other.Text) {
					having[term]++
				}
			}
		}
		vector := func(text string) map[string]float64 {
			weights := map[string]float64{}
			for term, times := range analyzerNamed(analysis).counts(text) {
				frequency := math.Round(16 * (1 + math.Log(float64(times))))
				weights[term] = frequency * (8 + math.Round(8*math.Log2(float64(all))) - math.Round(8*math.Log2(float64(max(1, having[term])))))
			}
			return weights
		}
		a, b := vector(sentence), vector(article.Text)
		var product, squareA, squareB float64
		for term, weight := range a {
			product += weight * b[term]
			squareA += weight * weight
		}
		for _, weight := range b {
			squareB += weight * weight
		}
		score := 0.0
		if product > 0 {
			score = math.Round(1e9*min(1, product/math.Sqrt(squareA*squareB))) / 1e9
		}
		if score >= threshold {
			hits = append(hits, Hit{ID: article.ID, Score: score})
		}
	}
	slices.SortFunc(hits, compare)
	return hits
}

var someWords = strings.Fields("house houses running run the of and bilene bil Häuser Haus 東京都 京都 apple banana cherry date elder fig grape a b c d e f g")

func someText(random *rand.Rand, most int) string {
	words := make([]string, random.IntN(most+1))
	for i := range words {
		// Some words are more frequent than others.
		words[i] = someWords[random.IntN(1+random.IntN(len(someWords)))]
	}
	return strings.Join(words, " ")
}

func someArticle(random *rand.Rand) Article {
	return Article{
		Network: "n", Language: []string{"", "en", "nb", "de"}[random.IntN(4)], Text: someText(random, 40),
		Entry: Entry{ID: fmt.Sprint(random.IntN(60))},
	}
}

func TestScoresAreThoseOfTheReference(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		terms, want := NewTerms(), reference{}
		for range 150 {
			if article := someArticle(random); random.IntN(3) > 0 {
				want[article.ID] = article
				if err := terms.Put(article); err != nil {
					t.Fatal(err)
				}
			} else {
				delete(want, article.ID)
				terms.Remove("n", article.ID)
			}
			if random.IntN(10) > 0 {
				continue
			}
			sentence, threshold, limit := someText(random, 8), math.Max(0, random.Float64()-0.3), random.IntN(20)
			hits := want.search(sentence, threshold)
			got := search(t, terms, "n", Query{Sentence: sentence, Threshold: threshold, Limit: limit})
			if got.Total != len(hits) || !sameHits(got.Hits, hits[:min(limit, len(hits))]) {
				t.Fatalf("seed %d, %q from %v: %v, want %v", seed, sentence, threshold, got, hits)
			}
		}
		checkNothingIsLeft(t, terms, want)
		checkOrderMakesNoDifference(t, random, terms, want)
	}
}

// checkOrderMakesNoDifference compares with an index that got the same articles
// in another order and never had others.
func checkOrderMakesNoDifference(t *testing.T, random *rand.Rand, terms *Terms, articles reference) {
	t.Helper()
	other := NewTerms()
	ids := slices.Sorted(maps.Keys(articles))
	random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		if err := other.Put(articles[id]); err != nil {
			t.Fatal(err)
		}
		text := articles[id].Text
		if got := search(t, terms, "n", Query{Sentence: text, Threshold: 1, Limit: 60}); text != "" && !slices.Contains(got.Hits, Hit{ID: id, Score: 1}) {
			t.Errorf("%q is not found by its own text: %v", id, got)
		}
	}
	query := Query{Sentence: someText(random, 20), Limit: 60}
	if one, two := search(t, terms, "n", query), search(t, other, "n", query); !sameHits(one.Hits, two.Hits) {
		t.Errorf("%v\nin another order %v", one, two)
	}
}

// checkNothingIsLeft compares what the index holds with what it should.
func checkNothingIsLeft(t *testing.T, terms *Terms, articles reference) {
	t.Helper()
	want := map[string]map[string]bool{}
	for _, article := range articles {
		analysis := analysisOf(article.Language)
		if want[analysis] == nil {
			want[analysis] = map[string]bool{}
		}
		for term := range analyzerNamed(analysis).counts(article.Text) {
			want[analysis][term] = true
		}
	}
	in := terms.networks["n"]
	if in == nil || len(in.corpora) != len(want) || len(in.places) != len(articles) {
		t.Fatalf("the index holds %+v, of %d articles", in, len(articles))
	}
	for analysis, corpus := range in.corpora {
		if len(corpus.ids) != len(want[analysis]) || len(corpus.names)-len(corpus.freeTerms) != len(corpus.ids) {
			t.Errorf("%d terms, %d names, %d free, of %d", len(corpus.ids), len(corpus.names), len(corpus.freeTerms), len(want[analysis]))
		}
		if corpus.size != len(corpus.entries)-len(corpus.freeSlots) || len(corpus.entries) > 60 {
			t.Errorf("%d articles, %d slots, %d free", corpus.size, len(corpus.entries), len(corpus.freeSlots))
		}
	}
}

// What one goroutine puts, it finds, whatever the others do; in the end the
// scores are those of the reference.
func TestConcurrentWritesAndSearches(t *testing.T) {
	terms, want := NewTerms(), reference{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for worker := range 6 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for n := range 100 {
				article := someArticle(random)
				article.ID = fmt.Sprintf("%d-%d", worker, n%10)
				article.Text += fmt.Sprintf(" mine%d", worker)
				if err := terms.Put(article); err != nil {
					t.Error(err)
				}
				if got := search(t, terms, "n", Query{Sentence: article.Text, Threshold: 1, Limit: 600}); !slices.Contains(got.Hits, Hit{ID: article.ID, Score: 1}) {
					t.Errorf("%s is not found: %v", article.ID, got)
				}
				gone := fmt.Sprintf("%d-%d", worker, random.IntN(10))
				terms.Remove("n", gone)
				mu.Lock()
				want[article.ID] = article
				delete(want, gone)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	query := Query{Sentence: "house run bil", Limit: 100}
	if got, hits := search(t, terms, "n", query), want.search(query.Sentence, 0); !sameHits(got.Hits, hits) {
		t.Errorf("%v, want %v", got, hits)
	}
}
