package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fakeEmbedder makes a vector of a text by itself.
type fakeEmbedder struct {
	// dimension is 8 unless given.
	dimension atomic.Int64
	down      atomic.Bool
	// bad texts are refused, and all when it refuses everything.
	refusesAll atomic.Bool
	calls      atomic.Int64
	texts      atomic.Int64
}

func (f *fakeEmbedder) Batch() int { return 4 }

func (f *fakeEmbedder) Embed(_ context.Context, texts []string) ([][]float64, error) {
	f.calls.Add(1)
	if f.down.Load() {
		return nil, &UnavailableError{Reason: "down"}
	}
	if len(texts) == 0 || len(texts) > f.Batch() {
		return nil, fmt.Errorf("%d texts", len(texts))
	}
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		if strings.Contains(text, "bad") || f.refusesAll.Load() || strings.TrimSpace(text) == "" {
			return nil, &UnavailableError{Reason: "bad text", Refused: true}
		}
		vectors[i] = someVector(text, int(cmp.Or(f.dimension.Load(), 8)))
	}
	f.texts.Add(int64(len(texts)))
	return vectors, nil
}

// someVector is a function of the text.
func someVector(text string, dimension int) []float64 {
	hash := fnv.New64()
	_, _ = hash.Write([]byte(text))
	random := rand.New(rand.NewPCG(hash.Sum64(), 0))
	vector := make([]float64, dimension)
	for i := range vector {
		vector[i] = random.NormFloat64()
	}
	return vector
}

func TestDenseScoresAreCosines(t *testing.T) {
	embedder := &fakeEmbedder{}
	dense := NewDense(embedder)
	random := rand.New(rand.NewPCG(1, 1))
	texts := map[string]string{}
	for n := range 300 {
		id := fmt.Sprint(random.IntN(100))
		if random.IntN(3) == 0 {
			dense.Remove("n", id)
			delete(texts, id)
			continue
		}
		texts[id] = fmt.Sprint("text ", n%70)
		put(t, dense, "n", id, "", texts[id])
	}
	for n := range 100 {
		sentence, threshold, limit := fmt.Sprint("text ", n), math.Max(0, random.Float64()-0.2), random.IntN(20)
		var want []Hit
		for id, text := range texts {
			a, b := someVector(sentence, 8), someVector(text, 8)
			var product, squareA, squareB float64
			for i := range a {
				product, squareA, squareB = product+a[i]*b[i], squareA+a[i]*a[i], squareB+b[i]*b[i]
			}
			if score := max(0, product/math.Sqrt(squareA*squareB)); score >= threshold {
				want = append(want, Hit{ID: id, Score: score})
			}
		}
		got := search(t, dense, "n", Query{Sentence: sentence, Threshold: threshold, Limit: limit})
		slices.SortFunc(want, compare)
		if got.Total != len(want) || len(got.Hits) != min(limit, len(want)) {
			t.Fatalf("%q from %v: %d of %d, want %d", sentence, threshold, len(got.Hits), got.Total, len(want))
		}
		for i, hit := range got.Hits {
			if math.Abs(hit.Score-want[i].Score) > 1e-6 || texts[hit.ID] == sentence && hit.Score != 1 {
				t.Errorf("%q: %v, want %v", sentence, hit, want[i])
			}
		}
	}
}

// The rough comparison is never trusted with what decides: an exact one of
// every article gives the same.
func TestDenseComparesExactlyWhereThatDecides(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	base := someVector("base", 700)
	close := make([]*embedded, 3000)
	for i := range close {
		moved := slices.Clone(base)
		moved[random.IntN(len(moved))] += random.Float64() * []float64{0.01, 5}[i%2]
		close[i] = &embedded{entry: &Entry{ID: fmt.Sprintf("%04d", i)}, vector: newVector(moved)}
	}
	network := &denseNetwork{articles: close}
	sentence := newVector(base)
	for range 50 {
		query := Query{Threshold: cosine(sentence, close[random.IntN(len(close))].vector), Limit: 1 + random.IntN(50)}
		want := topHits{limit: query.Limit}
		for _, article := range close {
			if score := cosine(sentence, article.vector); score >= query.Threshold {
				want.offer(Hit{ID: article.entry.ID, Score: score})
			}
		}
		got, expected := network.search(sentence, digest{1}, query), want.result()
		if got.Total != expected.Total || !sameHits(got.Hits, expected.Hits) {
			t.Fatalf("from %v: %d, want %d\n%v\n%v", query.Threshold, got.Total, expected.Total, got.Hits, expected.Hits)
		}
	}
}

func TestNoArticleIsMissedWhileTheServiceIsDown(t *testing.T) {
	embedder := &fakeEmbedder{}
	dense := NewDense(embedder)
	for n := range 10 {
		put(t, dense, "n", fmt.Sprint(n), "", fmt.Sprint("text ", n))
	}
	put(t, dense, "blank", "b", "", " ")
	embedder.down.Store(true)
	ctx := context.Background()
	var unavailable *UnavailableError
	if _, err := dense.Search(ctx, "n", Query{Sentence: "text 3", Limit: 1}); !errors.As(err, &unavailable) {
		t.Errorf("%v", err)
	}
	if err := dense.Flush(ctx); !errors.As(err, &unavailable) || dense.Stats().Pending != 10 {
		t.Errorf("%v, %+v", err, dense.Stats())
	}
	if got := search(t, dense, "blank", Query{Limit: 1}); got.Total != 1 || got.Hits[0].Score != 0 {
		t.Errorf("%v", got)
	}
	embedder.down.Store(false)
	if got := search(t, dense, "n", Query{Sentence: "text 3", Threshold: 0.99, Limit: 5}); got.Total != 1 || got.Hits[0] != (Hit{ID: "3", Score: 1}) {
		t.Errorf("%v", got)
	}
	if got := dense.Stats(); got != (Stats{Articles: 11}) {
		t.Errorf("%+v", got)
	}
	// What has a vector keeps it when the rest of the article changes.
	queryVector := embedder.calls.Load()
	if err := dense.Put(Article{Network: "n", Text: "text 3", Entry: Entry{ID: "3", Site: "new"}}); err != nil {
		t.Fatal(err)
	}
	if err := dense.Flush(ctx); err != nil || embedder.calls.Load() != queryVector {
		t.Errorf("%v, %d calls more", err, embedder.calls.Load()-queryVector)
	}
	query := Query{Sentence: "text 3", Threshold: 0.99, Limit: 5, Filter: func(e *Entry) bool { return e.Site == "new" }}
	if got := search(t, dense, "n", query); got.Total != 1 {
		t.Errorf("%v", got)
	}
	embedder.down.Store(true)
	if _, err := dense.Search(ctx, "n", query); !errors.As(err, &unavailable) {
		t.Errorf("without the sentence's vector: %v", err)
	}
	for n := range 10 {
		dense.Remove("n", fmt.Sprint(n))
	}
	if got := search(t, dense, "n", query); got.Total != 0 {
		t.Errorf("%v", got)
	}
}

func TestARefusedTextKeepsNoOtherFromBeingFound(t *testing.T) {
	embedder := &fakeEmbedder{}
	dense := NewDense(embedder)
	for n := range 9 {
		put(t, dense, "n", fmt.Sprint(n), "", fmt.Sprint("text ", n))
	}
	put(t, dense, "n", "bad", "", "bad text")
	if got := search(t, dense, "n", Query{Sentence: "text 3", Threshold: 0.99, Limit: 5}); got.Total != 1 {
		t.Errorf("%v", got)
	}
	if got := dense.Stats(); got != (Stats{Articles: 10, Refused: 1}) {
		t.Errorf("%+v", got)
	}
	put(t, dense, "n", "bad", "", "good text")
	if got := search(t, dense, "n", Query{Sentence: "good text", Threshold: 0.99, Limit: 5}); got.Total != 1 {
		t.Errorf("%v", got)
	}
	// A service that refuses everything is not set up.
	embedder.refusesAll.Store(true)
	put(t, dense, "n", "another", "", "another text")
	var unavailable *UnavailableError
	if err := dense.Flush(context.Background()); !errors.As(err, &unavailable) || dense.Stats() != (Stats{Articles: 11, Pending: 1}) {
		t.Errorf("%v, %+v", err, dense.Stats())
	}
}

func TestVectorsHaveOneDimension(t *testing.T) {
	embedder := &fakeEmbedder{}
	dense := NewDense(embedder)
	put(t, dense, "n", "a", "", "text")
	if got := search(t, dense, "n", Query{Sentence: "text", Threshold: 1, Limit: 1}); got.Total != 1 {
		t.Errorf("%v", got)
	}
	embedder.dimension.Store(9)
	var unavailable *UnavailableError
	if _, err := dense.Search(context.Background(), "n", Query{Sentence: "other", Limit: 1}); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "dimension") {
		t.Error(err)
	}
}

// blockingEmbedder lets a test change an article while its vector is made.
type blockingEmbedder struct {
	fakeEmbedder
	queryVector, answer chan struct{}
}

func (b *blockingEmbedder) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	b.queryVector <- struct{}{}
	select {
	case <-b.answer:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return b.fakeEmbedder.Embed(ctx, texts)
}

func TestAVectorOfAnOlderTextIsNotKept(t *testing.T) {
	embedder := &blockingEmbedder{queryVector: make(chan struct{}), answer: make(chan struct{})}
	dense := NewDense(embedder)
	put(t, dense, "n", "a", "", "old")
	ctx, cancel := context.WithCancel(context.Background())
	flushed := make(chan error)
	go func() { flushed <- dense.Flush(ctx) }()
	<-embedder.queryVector
	put(t, dense, "n", "a", "", "new")
	embedder.answer <- struct{}{}
	select {
	case <-embedder.queryVector:
	case err := <-flushed:
		t.Fatalf("the new text is not asked for: %v", err)
	}
	if got := dense.Stats(); got.Pending != 1 {
		t.Errorf("%+v", got)
	}
	// A caller that waits for its turn does not wait past its deadline.
	waiting, stop := context.WithCancel(context.Background())
	stop()
	if _, err := dense.Search(waiting, "n", Query{Sentence: "x"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	cancel()
	if err := <-flushed; !errors.Is(err, context.Canceled) || dense.Stats().Pending != 1 {
		t.Errorf("%v", err)
	}
}

func TestConcurrentDenseWritesAndSearches(t *testing.T) {
	embedder := &fakeEmbedder{}
	dense := NewDense(embedder)
	var wait sync.WaitGroup
	for worker := range 6 {
		wait.Go(func() {
			for n := range 50 {
				id, text := fmt.Sprintf("%d-%d", worker, n%7), fmt.Sprintf("text %d %d", worker, n%9)
				put(t, dense, "n", id, "", text)
				if got := search(t, dense, "n", Query{Sentence: text, Threshold: 1, Limit: 100}); !slices.Contains(got.Hits, Hit{ID: id, Score: 1}) {
					t.Errorf("%s is not found: %v", id, got)
				}
				dense.Remove("n", fmt.Sprintf("%d-%d", worker, n%5))
			}
		})
	}
	wait.Wait()
	if got := dense.Stats(); got.Pending != 0 || got.Articles > 42 {
		t.Errorf("%+v", got)
	}
}
