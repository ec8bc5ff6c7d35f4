package article

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"marquee/auth"
	"marquee/auth/rights"
	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/schemas"
)

// hindered is a store with faults, delays and actions between the steps of a search.
type hindered struct {
	store.Store
	// read, if any, is called before each Read.
	read func()
	// changes has the faults of the next calls of Changes and End.
	changes atomic.Pointer[[]error]
	// forgotten makes all positions invalid that End returned before.
	forgotten atomic.Bool
	// lag is the number of further Gets of articles that find nothing.
	lag atomic.Int64
}

// Recent makes each search read the changes.
func (h *hindered) Recent(...string) (string, bool) { return "", false }

func (h *hindered) fault() error {
	for {
		faults := h.changes.Load()
		if faults == nil || len(*faults) == 0 {
			return nil
		}
		left := (*faults)[1:]
		if h.changes.CompareAndSwap(faults, &left) {
			return (*faults)[0]
		}
	}
}

func (h *hindered) Changes(ctx context.Context, after string, limit int, collections ...string) ([]store.Change, string, error) {
	if err := h.fault(); err != nil {
		return nil, "", err
	}
	if h.forgotten.Load() {
		return nil, "", &store.Error{Code: store.CodeBadPosition, Text: "forgotten"}
	}
	return h.Store.Changes(ctx, after, limit, collections...)
}

func (h *hindered) End(ctx context.Context) (string, error) {
	if err := h.fault(); err != nil {
		return "", err
	}
	h.forgotten.Store(false)
	return h.Store.End(ctx)
}

func (h *hindered) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	if h.read != nil {
		h.read()
	}
	return h.Store.Read(ctx, func(s store.Snapshot) error { return fn(lagging{s, h}) })
}

type lagging struct {
	store.Snapshot
	h *hindered
}

func (l lagging) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	if collection == Name && l.h.lag.Add(-1) >= 0 {
		return nil
	}
	return l.Snapshot.Get(ctx, collection, keys, yield)
}

var caller = &engine.Caller{System: true, Grants: map[string]engine.Grant{"main": {Network: true}}}

type everybody struct{ rest.Authenticator }

func (everybody) Caller(context.Context, string) (*engine.Caller, error) { return caller, nil }

// fixture serves the search over HTTP on a store.
type fixture struct {
	*testing.T
	store  *hindered
	engine *engine.Engine
	search *Search
	log    bytes.Buffer
	server *httptest.Server
	access *narrow
}

// narrow restricts the visible articles, if a condition is set.
type narrow struct {
	rights.Access
	articles query.Expr
}

func (n *narrow) Visible(caller *engine.Caller, t *schema.Type, network string) query.Expr {
	if t.Name == Name && n.articles != nil {
		return n.articles
	}
	return n.Access.Visible(caller, t, network)
}

func load(t *testing.T, sources ...schema.Source) *schema.Registry {
	t.Helper()
	registry, err := schema.Load(sources...)
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

func newFixture(t *testing.T, registry *schema.Registry) *fixture {
	t.Helper()
	ctx := context.Background()
	opened, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "test.db")})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, store: &hindered{Store: opened}, search: New(), access: &narrow{}}
	if err := opened.EnsureCollections(ctx, auth.Collections()); err != nil {
		t.Fatal(err)
	}
	if f.engine, err = engine.New(ctx, engine.Config{Store: f.store, Access: f.access, Internal: auth.Collections()}, registry); err != nil {
		t.Fatal(err)
	}
	handler, err := rest.New(rest.Config{Engine: f.engine, Auth: everybody{}, Log: slog.New(slog.DiscardHandler), Routes: []rest.Route{f.search.Route()}})
	if err != nil {
		t.Fatal(err)
	}
	f.server = httptest.NewServer(handler)
	t.Cleanup(func() {
		f.server.Close()
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) start() (stop func()) {
	return f.search.Start(f.engine, slog.New(slog.NewTextHandler(&f.log, nil)))
}

func (f *fixture) write(id string, properties map[string]any) {
	f.Helper()
	t, err := f.engine.Type(Name)
	if err != nil {
		f.Fatal(err)
	}
	object := map[string]any{"id": id, "url": "https://example.com/" + id}
	for name, value := range properties {
		object[name] = value
	}
	if _, err := f.engine.Write(context.Background(), caller, engine.Batch{Network: "main", Operations: []engine.Operation{{Type: t, Object: object}}}); err != nil {
		f.Fatal(err)
	}
}

// answered is the response to a search.
type answered struct {
	Results    []struct{ ID string }
	TotalCount int
	Messages   []struct{ Code string }
	status     int
}

func (f *fixture) ask(sentence string, pageSize int) (a answered) {
	f.Helper()
	request, err := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/api/v1/targetingquery/articles2?context=main&pageSize=%d&thresholdScore=0.1&sentence=%s", f.server.URL, pageSize, sentence), nil)
	if err != nil {
		f.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer x")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&a); err != nil {
		f.Fatal(err)
	}
	if answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") == "" {
		f.Error("the response has no Retry-After")
	}
	a.status = answer.StatusCode
	return a
}

// find returns the status and the ids of a search, or the code of the error.
func (f *fixture) find(sentence string) string {
	f.Helper()
	a := f.ask(sentence, 1000)
	said := fmt.Sprint(a.status)
	for _, result := range a.Results {
		said += " " + result.ID
	}
	for _, m := range a.Messages {
		said += " " + m.Code
	}
	if a.TotalCount != len(a.Results) {
		f.Errorf("%s, and %d in all", said, a.TotalCount)
	}
	return said
}

func (f *fixture) finds(sentence, want string) {
	f.Helper()
	if got := f.find(sentence); got != want {
		f.Errorf("%s finds %s, want %s", sentence, got, want)
	}
}

func builtIn(t *testing.T) *schema.Registry { return load(t, schema.Source{FS: schemas.FS}) }
