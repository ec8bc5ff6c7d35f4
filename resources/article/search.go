// Package article serves the search for articles by a sentence (specification, part
// 4.6). It keeps an in-memory index up to date with the store, and checks hits against
// the store before it returns them. It may import the engine, catalogue and index;
// begin with Search.
package article

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/resources/article/index"
	"marquee/resources/catalogue"
)

// Name is the name of the type.
const Name = "articles"

// Search serves searches once it is started.
type Search struct {
	newIndex func() index.Index
	// release closes the embedder, if it needs closing.
	release  func()
	follower atomic.Pointer[follower]
}

// New returns a search that compares the words of sentences and articles.
func New() *Search {
	s := &Search{release: func() {}}
	s.Limit(DefaultIndexBytes)
	return s
}

// DefaultIndexBytes is the most memory that an index of words uses by default: for some
// 140,000 articles of 400 words.
const DefaultIndexBytes = 480 << 20

// Limit bounds the memory of an index of words. It must be called before Start, and not
// after Embed.
func (s *Search) Limit(bytes int64) {
	s.newIndex = func() index.Index { return index.NewTerms(bytes) }
}

// Embed makes the search use the vectors of an embedder. It must be called before
// Start.
func (s *Search) Embed(embedder index.Embedder) {
	s.newIndex = func() index.Index { return index.NewDense(embedder) }
	if closer, is := embedder.(interface{ Close() }); is {
		s.release = closer.Close
	}
}

// Start fills the index with the articles of an engine and follows their changes until
// stop is called, which waits until all work has ended.
func (s *Search) Start(e *engine.Engine, log *slog.Logger) (stop func()) {
	f := newFollower(e, s.newIndex, log)
	s.follower.Store(f)
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { f.run(ctx) })
	return func() {
		cancel()
		work.Wait()
		s.release()
	}
}

// Route returns the route of the search.
func (s *Search) Route() rest.Route {
	return rest.Route{Path: "/api/v1/targetingquery/articles2", Methods: []string{http.MethodPost}, Operation: rest.OperationSearch, Serve: s.serve}
}

const (
	// attempts is the maximum number of times that a search is tried while articles that it finds change.
	attempts = 3
	// retryBuilding and retryEmbeddings are the values of Retry-After.
	retryBuilding   = 5 * time.Second
	retryEmbeddings = 10 * time.Second
)

func (s *Search) serve(r *rest.Call) error {
	t, err := r.Engine().Type(Name)
	if err != nil {
		return err
	}
	q, err := readRequest(r)
	if err != nil {
		return err
	}
	f := s.follower.Load()
	if f == nil {
		return notReady()
	}
	for attempt := 1; ; attempt++ {
		page, settled, err := s.find(r, f, t, q, attempt == attempts)
		if err != nil {
			return clientError(r.Context(), err)
		}
		if settled {
			return r.Page(page)
		}
	}
}

// find returns a page of hits. The page is not settled if an article has changed since
// it was indexed. On the last attempt, such an article is returned as it is now, or
// omitted if it can no longer be found.
func (s *Search) find(r *rest.Call, f *follower, t *schema.Type, q *request, last bool) (page engine.Page, settled bool, err error) {
	ctx := r.Context()
	articles, err := f.current(ctx)
	if err != nil {
		return engine.Page{}, false, err
	}
	var filter func(*index.Entry) bool
	err = r.Engine().View(ctx, r.Caller(), q.network, nil, func(reading *engine.Reading) error {
		filter, err = q.targets.filter(ctx, r.Engine(), reading, t)
		return err
	})
	if err != nil {
		return engine.Page{}, false, err
	}
	found, err := articles.Search(ctx, q.network, index.Query{Sentence: q.sentence, Threshold: q.threshold, Limit: q.pageSize, Filter: filter})
	if err != nil {
		return engine.Page{}, false, err
	}
	err = r.Engine().View(ctx, r.Caller(), q.network, shown(t), func(reading *engine.Reading) error {
		page, settled, err = render(ctx, reading, t, q, found, last)
		return err
	})
	return page, settled, err
}

// shown returns the properties of articles in a page: all except the text.
func shown(t *schema.Type) engine.Projection {
	p := engine.Projection{"id": nil, "network": nil, "objectState": nil, "url": nil, "createTime": nil, "updateTime": nil,
		"createUser": nil, "updateUser": nil, "validationWarnings": nil}
	for name := range t.Shape.Properties {
		p[name] = nil
	}
	delete(p, "text")
	return p
}

const (
	// together is the number of articles read at once, and togetherBytes their maximum
	// total size, since texts may be long.
	together      = 50
	togetherBytes = 4 << 20
)

// errLarge reports that articles are too large to be read at once.
var errLarge = errors.New("article: the articles are too large to be read at once")

// render reads the hits and renders the page.
func render(ctx context.Context, reading *engine.Reading, t *schema.Type, q *request, found index.Result, last bool) (page engine.Page, settled bool, err error) {
	var w engine.PageWriter
	w.Begin([]byte(`{"results":[`))
	total, atOnce := found.Total, together
	for hits := found.Hits; len(hits) > 0 && !w.Truncated(); {
		some := hits[:min(atOnce, len(hits))]
		records, err := read(ctx, reading, t, some)
		if errors.Is(err, errLarge) {
			atOnce = len(some) / 2
			continue
		}
		if err != nil {
			return engine.Page{}, false, err
		}
		hits = hits[len(some):]
		var list []*store.Record
		var scores []float64
		for _, hit := range some {
			record := records[hit.ID]
			if !last && (record == nil || record.Version != hit.Version) {
				return engine.Page{}, false, nil
			}
			if record == nil || !findable(record) {
				total--
				continue
			}
			list, scores = append(list, record), append(scores, hit.Score)
		}
		err = reading.Render(ctx, t, list, func(i int, text []byte) error {
			return w.Add(func(dst []byte) ([]byte, error) {
				dst = append(append(dst, text[:len(text)-1]...), `,"score":`...)
				return append(document.Append(dst, scores[i]), '}'), nil
			})
		})
		if err != nil {
			return engine.Page{}, false, err
		}
	}
	end := fmt.Appendf(nil, `,"totalCount":%d`, total)
	if q.shortened {
		end = fmt.Appendf(end, `,"pageSize":%d`, q.pageSize)
	}
	return w.End(end), true, nil
}

// read returns the articles of hits that the caller can see. It fails with errLarge if
// several are too large together.
func read(ctx context.Context, reading *engine.Reading, t *schema.Type, hits []index.Hit) (map[string]*store.Record, error) {
	ids := make([]string, len(hits))
	for i, hit := range hits {
		ids[i] = hit.ID
	}
	records, size := make(map[string]*store.Record, len(hits)), 0
	err := reading.Visible(ctx, t, ids, func(r *store.Record) error {
		if size += len(r.Document); size > togetherBytes && len(hits) > 1 {
			return errLarge
		}
		records[r.ID] = r.Clone()
		return nil
	})
	return records, err
}

// notReady returns the error for searches while the index is being filled.
func notReady() error {
	e := catalogue.ArticleIndexBuilding.Error(nil)
	e.RetryAfter = retryBuilding
	return e
}

// clientError translates an error of the index for clients.
func clientError(ctx context.Context, err error) error {
	var unavailable *index.UnavailableError
	switch {
	case ctx.Err() != nil:
		return store.Translate(ctx.Err())
	case errors.Is(err, errNotReady):
		return notReady()
	case errors.As(err, &unavailable):
		e := catalogue.ArticleEmbeddings.Error(nil).Caused(err)
		e.RetryAfter = retryEmbeddings
		return e
	}
	return store.Translate(err)
}
