// Package articlesearch answers searches for articles by a sentence
// (specification, part 4.6). The index is in memory; what it says is held
// against the store, which it follows.
package articlesearch

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/resources/article"
)

// Name is the type that is searched.
const Name = "articles"

// Search is the service's search for articles. Until it is started it has no
// answers.
type Search struct {
	newIndex func() article.Index
	// release gives back what the embedder holds, if it holds anything.
	release  func()
	follower atomic.Pointer[follower]
}

// New compares the words of sentences and articles.
func New() *Search {
	return &Search{newIndex: func() article.Index { return article.NewTerms() }, release: func() {}}
}

// Embed has an embedder make the vectors. It is called before Start.
func (s *Search) Embed(embedder article.Embedder) {
	s.newIndex = func() article.Index { return article.NewDense(embedder) }
	if closer, is := embedder.(interface{ Close() }); is {
		s.release = closer.Close
	}
}

// Start fills the index with the articles of an engine, and follows them until
// stop is called, which returns when nothing of that is left.
func (s *Search) Start(e *engine.Engine, log *slog.Logger) (stop func()) {
	f := newFollower(e, s.newIndex, log)
	s.follower.Store(f)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.run(ctx)
	}()
	return func() {
		cancel()
		<-ended
		s.release()
	}
}

// Route is that of the search.
func (s *Search) Route() rest.Route {
	return rest.Route{Path: "targetingquery/articles2", Methods: []string{http.MethodPost}, Serve: s.serve}
}

const (
	// attempts is how often a search begins anew because an article that it
	// found was changed meanwhile.
	attempts = 3
	// retryBuilding and retryEmbeddings are when a client may try again.
	retryBuilding   = 5 * time.Second
	retryEmbeddings = 10 * time.Second
)

func (s *Search) serve(r *rest.Call) error {
	t, err := r.Engine().Type(Name)
	if err != nil {
		return err
	}
	q, err := read(r)
	if err != nil {
		return err
	}
	f := s.follower.Load()
	if f == nil {
		return building()
	}
	for attempt := 1; ; attempt++ {
		body, settled, err := s.find(r, f, t, q, attempt == attempts)
		if err != nil {
			return told(r.Context(), err)
		}
		if settled {
			r.Header().Set("Cache-Control", "private, no-cache")
			r.Answer(http.StatusOK, body)
			return nil
		}
	}
}

// find makes the answer. It is not settled when an article is not as it was
// found, unless this is the last attempt: then it is shown as it is, and left
// out when it is no longer one that can be found.
func (s *Search) find(r *rest.Call, f *follower, t *schema.Type, q *request, last bool) (body []byte, settled bool, err error) {
	ctx := r.Context()
	index, err := f.current(ctx)
	if err != nil {
		return nil, false, err
	}
	var filter func(*article.Entry) bool
	err = r.Engine().Look(ctx, r.Caller(), q.network, nil, func(reading *engine.Reading) error {
		filter, err = q.targets.filter(ctx, r.Engine(), reading, t)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	found, err := index.Search(ctx, q.network, article.Query{Sentence: q.sentence, Threshold: q.threshold, Limit: q.pageSize, Filter: filter})
	if err != nil {
		return nil, false, err
	}
	err = r.Engine().Look(ctx, r.Caller(), q.network, shown(t), func(reading *engine.Reading) error {
		body, settled, err = render(ctx, reading, t, found, last)
		return err
	})
	return body, settled, err
}

// shown are the properties of an article in an answer: all but its text.
func shown(t *schema.Type) engine.Projection {
	p := engine.Projection{"id": nil, "network": nil, "objectState": nil, "url": nil, "createTime": nil, "updateTime": nil,
		"createUser": nil, "updateUser": nil, "validationWarnings": nil}
	for name := range t.Shape.Properties {
		p[name] = nil
	}
	delete(p, "text")
	return p
}

// together is how many articles are read at once: their texts may be long.
const together = 50

// render reads what was found, and writes the answer.
func render(ctx context.Context, reading *engine.Reading, t *schema.Type, found article.Result, last bool) (body []byte, settled bool, err error) {
	total := found.Total
	body = append(body, `{"results":[`...)
	for hits := found.Hits; len(hits) > 0; {
		some := hits[:min(together, len(hits))]
		hits = hits[len(some):]
		ids := make([]string, len(some))
		for i, hit := range some {
			ids[i] = hit.ID
		}
		records := make(map[string]*store.Record, len(some))
		err := reading.Visible(ctx, t, ids, func(r *store.Record) error {
			records[r.ID] = engine.Keep(r)
			return nil
		})
		if err != nil {
			return nil, false, err
		}
		var list []*store.Record
		var scores []float64
		for _, hit := range some {
			record := records[hit.ID]
			if !last && (record == nil || record.Version != hit.Version) {
				return nil, false, nil
			}
			if record == nil || !findable(record) {
				total--
				continue
			}
			list, scores = append(list, record), append(scores, hit.Score)
		}
		err = reading.Render(ctx, t, list, func(i int, text []byte) {
			if body[len(body)-1] == '}' {
				body = append(body, ',')
			}
			body = append(append(body, text[:len(text)-1]...), `,"score":`...)
			body = append(document.Append(body, scores[i]), '}')
		})
		if err != nil {
			return nil, false, err
		}
	}
	body = append(body, `],"totalCount":`...)
	return append(strconv.AppendInt(body, int64(total), 10), '}'), true, nil
}

// building is the answer while there is no index.
func building() error {
	e := message.ArticleIndexBuilding.Error(nil)
	e.RetryAfter = retryBuilding
	return e
}

// told turns an error of the index into one for clients.
func told(ctx context.Context, err error) error {
	var unavailable *article.UnavailableError
	switch {
	case ctx.Err() != nil:
		return engine.Translate(ctx.Err())
	case errors.Is(err, errBuilding):
		return building()
	case errors.As(err, &unavailable):
		e := message.ArticleEmbeddings.Error(nil).Caused(err)
		e.RetryAfter = retryEmbeddings
		return e
	}
	return engine.Translate(err)
}
