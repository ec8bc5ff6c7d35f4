package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/resources/article"
)

const articleWords = 200_000

// words writes texts whose words are as frequent as those of a language: the
// n-th word in proportion to 1/n.
type words struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newWords(seed uint64) *words {
	random := rand.New(rand.NewPCG(seed, 1))
	return &words{random, rand.NewZipf(random, 1.07, 4, articleWords-1)}
}

var syllables = strings.Fields("ba te ring no sel ka mer ing vi ler ne so dak fo hi lum")

func (w *words) text(n int) string {
	var text strings.Builder
	for range n {
		for word := w.zipf.Uint64() + 16; word > 0; word /= 16 {
			text.WriteString(syllables[word%16])
		}
		text.WriteByte(' ')
	}
	return text.String()
}

// loadArticles puts articles of 300 to 500 words into the store, as writes leave
// them there but for what lists find them by.
func (s *service) loadArticles(tb testing.TB, n int) {
	w, now := newWords(1), time.Now().UTC().Truncate(time.Millisecond)
	var sites []map[string]any
	for site := range 50 {
		sites = append(sites, map[string]any{"id": fmt.Sprint("site-", site), "name": fmt.Sprint("Site ", site)})
	}
	s.write(tb, "sites", sites)
	for from := 0; from < n; from += 1000 {
		var writes []store.Write
		for i := from; i < min(from+1000, n); i++ {
			doc := document.Append(nil, map[string]any{"url": fmt.Sprint("https://example.com/", i), "title": w.text(8), "text": w.text(300 + w.random.IntN(201)),
				"language": "en", "site": fmt.Sprint("site-", i%50)})
			writes = append(writes, store.Write{Record: store.Record{Key: store.Key{Network: network, ID: fmt.Sprintf("a-%08d", i)}, Version: 1, State: "ACTIVE",
				CreateTime: now, UpdateTime: now, CreateUser: "admin", UpdateUser: "admin", Document: doc}})
		}
		if err := s.store.Write(context.Background(), func(tx store.Tx) error { return tx.Put(context.Background(), article.Name, writes) }); err != nil {
			tb.Fatal(err)
		}
	}
}

// search asks for articles over HTTP until there is an index, and returns how long
// the last answer took, and how many articles reach the threshold.
func (s *service) search(tb testing.TB, parameters string, body []byte) (took time.Duration, total int) {
	for {
		r, err := http.NewRequest(http.MethodPost, s.server.URL+"/api/v1/targetingquery/articles2?context=main&"+parameters, bytes.NewReader(body))
		if err != nil {
			tb.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.token)
		began := time.Now()
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			tb.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		switch {
		case err != nil || answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable:
			tb.Fatal(answer.StatusCode, string(text), err)
		case answer.StatusCode == http.StatusOK:
			took = time.Since(began)
			var list struct{ TotalCount int }
			if err := json.Unmarshal(text, &list); err != nil {
				tb.Fatal(err)
			}
			return took, list.TotalCount
		}
	}
}

// BenchmarkArticleSearch searches among 100,000 articles over HTTP, and fills
// the index anew as a start does.
func BenchmarkArticleSearch(b *testing.B) { searchArticles(b, fresh(b)) }

// BenchmarkMongoDBArticleSearch is the same on MongoDB, where each search asks
// what other servers have written.
func BenchmarkMongoDBArticleSearch(b *testing.B) {
	s, _ := onMongoDB(b, nil)
	searchArticles(b, s)
}

func searchArticles(b *testing.B, s *service) {
	articles := 100_000
	if text := os.Getenv("MARQUEE_BENCH_ARTICLES"); text != "" {
		var err error
		if articles, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	s.loadArticles(b, articles)
	before, began := heap(), time.Now()
	stop := s.types.Articles.Start(s.engine, slog.New(slog.DiscardHandler))
	defer stop()
	s.search(b, "pageSize=1&thresholdScore=0.1&sentence=ring", nil)
	started, memory := time.Since(began), heap()-before
	b.Run("start", func(b *testing.B) {
		b.ReportMetric(started.Seconds(), "s/start")
		b.ReportMetric(memory, "MB")
	})
	w := newWords(99)
	for name, sentence := range map[string]string{"sentence": w.text(12), "article": w.text(400)} {
		for narrowed, target := range map[string]string{"": "", "-narrowed": `, "siteTarget": {"sites": ["site-7"]}, "domainNameTarget": {"names": ["example.com"]}`} {
			body := []byte(fmt.Sprintf(`{"sentence": %q%s}`, sentence, target))
			b.Run(name+narrowed, func(b *testing.B) {
				_, total := s.search(b, "pageSize=20&thresholdScore=0.05", body)
				b.ReportMetric(float64(total), "found")
				percentiles(b, func(int) time.Duration {
					took, _ := s.search(b, "pageSize=20&thresholdScore=0.05", body)
					return took
				})
			})
		}
	}
	// Each search follows a write, which the index has to take in.
	b.Run("after-write", func(b *testing.B) {
		percentiles(b, func(n int) time.Duration {
			s.write(b, article.Name, []map[string]any{{"id": fmt.Sprintf("a-%08d", n%articles), "title": w.text(8), "text": w.text(400)}})
			took, _ := s.search(b, "pageSize=20&thresholdScore=0.05&sentence=ring%20tebano", nil)
			return took
		})
	})
	// A whole page is read and rendered.
	b.Run("page-of-1000", func(b *testing.B) {
		percentiles(b, func(int) time.Duration {
			took, _ := s.search(b, "pageSize=1000&thresholdScore=0&sentence=ring%20tebano", nil)
			return took
		})
	})
}

// percentiles reports how long the calls took.
func percentiles(b *testing.B, call func(n int) time.Duration) {
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		took = append(took, call(n))
	}
	slices.Sort(took)
	b.ReportMetric(milliseconds(took[len(took)/2]), "ms/median")
	b.ReportMetric(milliseconds(took[len(took)*95/100]), "ms/95%")
}

// heap is the memory in use, in MB.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / 1e6
}
