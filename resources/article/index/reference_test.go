package index

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unsafe"

	"marquee/resources/article/language"
)

func sameMemory(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

// reference computes scores as weights.go and closeness.go say they are, from
// all articles anew: with vectors that have every dimension, and with neither
// postings nor sums that are kept.
type reference map[string]Article

// search returns the score of each article.
func (r reference) search(sentence string) map[string]float64 {
	scores, analyses, terms := map[string]float64{}, map[string]string{}, map[string][]weighted{}
	for id, article := range r {
		analyses[id] = article.analysis()
		terms[id] = article.terms(language.Named(analyses[id]))
	}
	for id, analysis := range analyses {
		articles, having := 0.0, map[string]int{}
		for other := range r {
			if analyses[other] == analysis {
				articles++
				for _, term := range terms[other] {
					having[term.term]++
				}
			}
		}
		vector := func(terms []weighted) map[string]float64 {
			weights := map[string]float64{}
			for _, term := range terms {
				rarity := 8 + math.Round(8*math.Log2(articles)) - math.Round(8*math.Log2(float64(max(1, having[term.term]))))
				weights[term.term] = float64(term.weight) * rarity
			}
			return weights
		}
		analyzer := language.Named(analysis)
		asked := vector(known(weigh(analyzer, analyzer.Counts(beginning(sentence))), analysis, having))
		said, rest := map[string]float64{}, 0.0
		for term, weight := range vector(terms[id]) {
			if _, shared := asked[term]; shared {
				said[term] = weight
			} else {
				rest += weight * weight
			}
		}
		a, b := withPairs(asked, 0), withPairs(said, 0.03*rest)
		cosine := dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b))
		switch {
		case len(asked) == 0 || len(said) == 0:
			scores[id] = 0
		case cosine < 0.31:
			scores[id] = math.Pow(cosine/0.31, 5) / 2
		default:
			scores[id] = 0.5 + 0.5*(cosine-0.31)/0.69
		}
	}
	return scores
}

// known replaces the terms that no article has.
func known(sentence []weighted, analysis string, having map[string]int) []weighted {
	there := func(term string) bool { return having[term] > 0 }
	slices.SortFunc(sentence, func(a, b weighted) int { return strings.Compare(a.term, b.term) })
	terms := map[string]weighted{}
	for _, term := range sentence {
		if there(term.term) {
			terms[term.term] = term
		}
	}
	for _, term := range sentence {
		if there(term.term) {
			continue
		}
		parts := []string{term.term}
		var akin []string
		for name := range having {
			longest := max(len([]rune(name)), len([]rune(term.term)))
			if same := commonLetters(name, term.term); same >= 5 && same >= longest-2 && !strings.ContainsFunc(name+term.term, unicode.IsDigit) {
				akin = append(akin, name)
			}
		}
		slices.SortFunc(akin, func(a, b string) int {
			return cmp.Or(commonLetters(b, term.term)-commonLetters(a, term.term), having[b]-having[a], strings.Compare(a, b))
		})
		if len(akin) > 0 {
			parts = []string{akin[0], term.term}
		} else if language.HasCompounds(analysis) {
			parts = splitCompound(term.term, language.Named(analysis), there)
		}
		for _, part := range parts {
			if _, already := terms[part]; !already {
				terms[part] = weighted{part, uint8(float64(term.weight) / math.Sqrt(float64(len(parts))))}
			}
		}
	}
	return slices.Collect(maps.Values(terms))
}

// withPairs is the vector of terms and pairs of terms, and of what else a text says.
func withPairs(weights map[string]float64, rest float64) map[string]float64 {
	length := rest
	for _, weight := range weights {
		length += weight * weight
	}
	length = math.Sqrt(length)
	vector := map[string]float64{"the rest": math.Sqrt(rest) / length}
	for one, weight := range weights {
		vector[one] = weight / length
		for other, by := range weights {
			if one < other {
				vector[one+" and "+other] = math.Sqrt(32) * weight * by / (length * length)
			}
		}
	}
	return vector
}

func dot(a, b map[string]float64) (sum float64) {
	for dimension, x := range a {
		sum += x * b[dimension]
	}
	return sum
}

// differs says where the hits, which are all, are not those of the reference.
func (r reference) differs(sentence string, got Result) string {
	want := r.search(sentence)
	if got.Total != len(want) || len(got.Hits) != len(want) || !slices.IsSortedFunc(got.Hits, compare) {
		return fmt.Sprintf("%v, want %v", got, want)
	}
	for _, hit := range got.Hits {
		// The fingerprint finds what is the same but for what counts.
		if score := want[hit.ID]; math.Abs(hit.Score-score) > 1e-8 && !(hit.Score == 1 && fingerprint(sentence) == fingerprint(r[hit.ID].Text)) {
			return fmt.Sprintf("%s: %v, want %v", hit.ID, hit.Score, score)
		}
	}
	return ""
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
		terms, want := NewTerms(0), reference{}
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
			whole := search(t, terms, "n", Query{Sentence: sentence, Limit: len(want)})
			if differs := want.differs(sentence, whole); differs != "" {
				t.Fatalf("seed %d, %q: %s", seed, sentence, differs)
			}
			hits := slices.DeleteFunc(whole.Hits, func(hit Hit) bool { return hit.Score < threshold })
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
	other := NewTerms(0)
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
		analysis := article.analysis()
		if want[analysis] == nil {
			want[analysis] = map[string]bool{}
		}
		for term := range language.Named(analysis).Counts(article.Text) {
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

// A goroutine finds what it has put, whatever the others do; in the end the
// scores are those of the reference.
func TestConcurrentWritesAndSearches(t *testing.T) {
	terms, want := NewTerms(0), reference{}
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
	if differs := want.differs(query.Sentence, search(t, terms, "n", query)); differs != "" {
		t.Error(differs)
	}
}
