package creative

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"marquee/resources/creative/layout"
)

// counting returns a cache and the number of templates that it has parsed.
func counting(limit int) (*templateCache, *atomic.Int64) {
	t, n := newTemplateCache(limit), new(atomic.Int64)
	t.parse = func(ctx context.Context, html string) (*layout.Template, []layout.Fault, error) {
		n.Add(1)
		return layout.Parse(ctx, html)
	}
	return t, n
}

// Concurrent calls for the same html parse it once.
func TestTemplatesAreParsedOnce(t *testing.T) {
	cache, parsed := counting(maxTemplateBytes)
	html := strings.Repeat("<p>{{a}}</p>", 20_000)
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			if template, _, err := cache.get(t.Context(), html); template == nil || err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if _, faults, err := cache.get(t.Context(), "{{"); len(faults) != 1 || err != nil {
		t.Error(faults, err)
	}
	if _, faults, err := cache.get(t.Context(), "{{"); len(faults) != 1 || err != nil {
		t.Error(faults, err)
	}
	if n := parsed.Load(); n != 2 {
		t.Errorf("parsed %d templates, want 2", n)
	}
}

// The cache keeps the templates used last, up to its limit of bytes.
func TestTemplatesAreKeptByTheirBytes(t *testing.T) {
	cache, parsed := counting(10 * 100_000)
	html := func(i int) string { return fmt.Sprint(i) + strings.Repeat("x", 70_000) }
	for i := range 40 {
		for _, n := range []int{0, i} {
			if _, _, err := cache.get(t.Context(), html(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := parsed.Load(); n != 40 {
		t.Errorf("parsed %d templates, want 40", n)
	}
	if n := len(cache.known); n < 5 || n > 15 || n != cache.used.Len() || cache.bytes > cache.limit {
		t.Errorf("the cache has %d templates in %d bytes", n, cache.bytes)
	}
	if _, _, err := cache.get(t.Context(), html(1)); err != nil || parsed.Load() != 41 {
		t.Error("a template used long ago was not evicted", err)
	}
	if template, _, err := cache.get(t.Context(), strings.Repeat("y", 900_000)+strings.Repeat("{{a}}", 5000)); template == nil || err != nil || cache.bytes > cache.limit {
		t.Error("a template larger than the cache", err)
	}
}

// When the caller that parses a template is cancelled, one that waits for the
// result parses it.
func TestCancelledCallerDoesNotCancelOthers(t *testing.T) {
	cache, begun, leave := newTemplateCache(maxTemplateBytes), make(chan struct{}), make(chan struct{})
	var n atomic.Int64
	cache.parse = func(ctx context.Context, html string) (*layout.Template, []layout.Fault, error) {
		if n.Add(1) == 1 {
			close(begun)
			<-leave
			return nil, nil, context.Canceled
		}
		return layout.Parse(ctx, html)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, _, err := cache.get(t.Context(), "<p>"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-begun
	wait.Go(func() {
		if template, _, err := cache.get(t.Context(), "<p>"); template == nil || err != nil {
			t.Error(err)
		}
	})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := cache.get(gone, "<p>"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(leave)
	wait.Wait()
}
