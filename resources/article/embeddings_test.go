package article

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"marquee/engine"
	"marquee/resources/article/index"
)

// stuck is an embedder that does not return.
type stuck struct{ ends chan struct{} }

func (stuck) Batch() int { return 10 }

func (s stuck) Embed(ctx context.Context, _ []string) ([][]float64, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ends:
		return nil, errors.New("it ends")
	}
}

// counting is an embedder that counts texts.
type counting struct {
	n    *atomic.Int64
	down *atomic.Bool
}

func (counting) Batch() int { return 7 }

func (c counting) Embed(_ context.Context, texts []string) ([][]float64, error) {
	if c.down.Load() {
		return nil, &index.UnavailableError{Reason: "it is down"}
	}
	c.n.Add(int64(len(texts)))
	vectors := make([][]float64, len(texts))
	for i := range texts {
		vectors[i] = []float64{1, float64(len(texts[i]))}
	}
	return vectors, nil
}

// While the embeddings service is down, at most maxPending texts are in memory, and no
// text is embedded twice.
func TestEmbeddingsAreDownWhileFilling(t *testing.T) {
	f := newFixture(t, builtIn(t))
	types, err := f.engine.Type(Name)
	if err != nil {
		t.Fatal(err)
	}
	const total = maxPending + 10*page
	for from := 0; from < total; from += 1000 {
		batch := engine.Batch{Network: "main"}
		for n := from; n < min(from+1000, total); n++ {
			batch.Operations = append(batch.Operations, engine.Operation{Type: types, Object: map[string]any{
				"id": fmt.Sprint(n), "url": fmt.Sprint("https://example.com/", n), "text": fmt.Sprint("ferry ", n)}})
		}
		if _, err := f.engine.Write(context.Background(), caller, batch); err != nil {
			t.Fatal(err)
		}
	}
	embedder := counting{&atomic.Int64{}, &atomic.Bool{}}
	embedder.down.Store(true)
	var articles index.Index
	f.search.newIndex = func() index.Index { articles = index.NewDense(embedder); return articles }
	follow := newFollower(f.engine, f.search.newIndex, slog.New(slog.DiscardHandler))
	var kept *filling
	for range 5 {
		var unavailable *index.UnavailableError
		if err := follow.step(t.Context(), &kept); !errors.As(err, &unavailable) {
			t.Fatal(err)
		}
		if stats := articles.Stats(); stats.Pending != maxPending {
			t.Fatalf("%+v", stats)
		}
	}
	if _, err := follow.current(t.Context()); err == nil || !strings.Contains(err.Error(), "it is down") {
		t.Errorf("the search says %v", err)
	}
	embedder.down.Store(false)
	if err := follow.step(t.Context(), &kept); err != nil {
		t.Fatal(err)
	}
	if stats := articles.Stats(); stats.Articles != total || stats.Pending != 0 || embedder.n.Load() != total {
		t.Errorf("%+v, %d texts embedded", stats, embedder.n.Load())
	}
	// Once the index is filled, the position stays as long as embedding fails.
	embedder.down.Store(true)
	for n := range 3 * page {
		f.write(fmt.Sprint(n), map[string]any{"text": fmt.Sprint("another ferry ", n)})
	}
	for range 3 {
		if err := follow.step(t.Context(), &kept); err == nil {
			t.Error("the follower does not say that the vectors are missing")
		}
	}
	embedder.down.Store(false)
	if err := follow.step(t.Context(), &kept); err != nil {
		t.Fatal(err)
	}
	if stats := articles.Stats(); stats.Pending != 0 || embedder.n.Load() != total+3*page {
		t.Errorf("%+v, %d texts embedded", stats, embedder.n.Load())
	}
}
