package creative

import (
	"container/list"
	"context"
	"crypto/sha256"
	"sync"

	"marquee/resources/creative/layout"
)

// maxTemplateBytes is the memory for cached templates.
const maxTemplateBytes = 32 << 20

// templates caches the templates of the layouts used last, for writes and reads.
var templates = newTemplateCache(maxTemplateBytes)

// templateCache caches parsed html by its content. Concurrent calls for the same
// html parse it once.
type templateCache struct {
	limit int
	// parse is layout.Parse, except in tests.
	parse func(ctx context.Context, html string) (*layout.Template, []layout.Fault, error)

	mu    sync.Mutex
	bytes int
	known map[[sha256.Size]byte]*parsing
	// used has the finished entries, the last used first.
	used *list.List
}

// parsing is an entry of the cache, whose result may still be outstanding.
type parsing struct {
	key [sha256.Size]byte
	// done is closed when the fields below it are set.
	done     chan struct{}
	template *layout.Template
	faults   []layout.Fault
	err      error
	bytes    int
	at       *list.Element
}

func newTemplateCache(limit int) *templateCache {
	return &templateCache{limit: limit, parse: layout.Parse, known: map[[sha256.Size]byte]*parsing{}, used: list.New()}
}

// get returns the template of html, or its faults. The only possible error is
// that of the context.
func (t *templateCache) get(ctx context.Context, html string) (*layout.Template, []layout.Fault, error) {
	key := sha256.Sum256([]byte(html))
	for {
		p, created := t.find(key)
		if created {
			t.fill(ctx, p, html)
			return p.template, p.faults, p.err
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if p.err == nil {
			return p.template, p.faults, nil
		}
		// The caller that parsed it was cancelled; this one need not be.
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
}

// find returns the entry of a key. If it created the entry, the caller must fill
// it.
func (t *templateCache) find(key [sha256.Size]byte) (p *parsing, created bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, known := t.known[key]; known {
		if p.at != nil {
			t.used.MoveToFront(p.at)
		}
		return p, false
	}
	p = &parsing{key: key, done: make(chan struct{})}
	t.known[key] = p
	return p, true
}

// parsingBytes is the size of an entry without its template.
const parsingBytes = 16 << 10

func (t *templateCache) fill(ctx context.Context, p *parsing, html string) {
	p.err = context.Canceled // for other callers, if the parser panics
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		defer close(p.done)
		if p.err != nil {
			delete(t.known, p.key)
			return
		}
		p.bytes = parsingBytes
		if p.template != nil {
			p.bytes += p.template.Bytes()
		}
		p.at = t.used.PushFront(p)
		t.bytes += p.bytes
		for t.bytes > t.limit {
			last := t.used.Remove(t.used.Back()).(*parsing)
			delete(t.known, last.key)
			t.bytes -= last.bytes
		}
	}()
	p.template, p.faults, p.err = t.parse(ctx, html)
}
