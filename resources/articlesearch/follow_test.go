package articlesearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"marquee/auth"
	"marquee/engine"
	"marquee/engine/query"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/resources/article"
	"marquee/schemas"
)

// hindered is a store in which things happen between the steps of a search.
type hindered struct {
	store.Store
	// read is called before each Read, if it is set.
	read func()
	// changes are the faults of the next calls of Changes and End.
	changes atomic.Pointer[[]error]
	// lag is how many more Gets of articles find nothing.
	lag atomic.Int64
}

// Revision makes each search ask for the changes.
func (h *hindered) Revision(...string) (string, bool) { return "", false }

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
	return h.Store.Changes(ctx, after, limit, collections...)
}

func (h *hindered) End(ctx context.Context) (string, error) {
	if err := h.fault(); err != nil {
		return "", err
	}
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

type everybody struct{}

func (everybody) Caller(context.Context, string) (*engine.Caller, error) { return caller, nil }

// fixture is the search on a store, over HTTP.
type fixture struct {
	*testing.T
	store  *hindered
	engine *engine.Engine
	search *Search
	log    bytes.Buffer
	server *httptest.Server
	access *narrow
}

// narrow shows articles by a condition, if it is set.
type narrow struct {
	auth.Access
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

// find searches, and gives the status and the ids that were found, or the code
// of the fault.
func (f *fixture) find(sentence string) string {
	f.Helper()
	request, err := http.NewRequest(http.MethodPost, f.server.URL+"/api/v1/targetingquery/articles2?context=main&pageSize=1000&thresholdScore=0.1&sentence="+sentence, nil)
	if err != nil {
		f.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer x")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct {
		Results    []struct{ ID string }
		TotalCount int
		Messages   []struct{ Code string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		f.Fatal(err)
	}
	said := fmt.Sprint(answer.StatusCode)
	for _, result := range body.Results {
		said += " " + result.ID
	}
	for _, m := range body.Messages {
		said += " " + m.Code
	}
	if answer.StatusCode == http.StatusOK && body.TotalCount != len(body.Results) {
		f.Errorf("%s, and %d in all", said, body.TotalCount)
	}
	if answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") == "" {
		f.Error("the answer does not say when to try again")
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

// What the store has forgotten is read anew: the index is filled again.
func TestFilledAnew(t *testing.T) {
	f := newFixture(t, builtIn(t))
	f.write("a", map[string]any{"text": "ferry"})
	defer f.start()()
	f.finds("ferry", "200 a")
	f.write("b", map[string]any{"text": "ferry"})
	f.write("a", map[string]any{"objectState": "HIDDEN"})
	f.store.changes.Store(&[]error{&store.Error{Code: store.CodeBadPosition, Text: "forgotten"}})
	if got := f.find("ferry"); got != "503 error.article.index.not.ready" && got != "200 b" { // the follower may have come first
		t.Errorf("the search that meets it finds %s", got)
	}
	f.finds("ferry", "200 b")
}

// A store that cannot be reached is tried again, at the start as well.
func TestStoreIsLost(t *testing.T) {
	f := newFixture(t, builtIn(t))
	f.write("a", map[string]any{"text": "ferry"})
	lost := &store.Error{Code: store.CodeUnavailable, Text: "lost"}
	f.store.changes.Store(&[]error{lost, lost})
	stop := f.start()
	f.finds("ferry", "200 a")
	many := make([]error, 100)
	for i := range many {
		many[i] = lost
	}
	f.store.changes.Store(&many)
	f.finds("ferry", "503 error.store.unavailable")
	f.store.changes.Store(nil)
	f.finds("ferry", "200 a")
	stop()
	if text := f.log.String(); strings.Count(text, "article search is behind") == 0 || strings.Count(text, "article search goes on") == 0 {
		t.Errorf("the log does not tell: %s", text)
	}
}

// A secondary may be behind: what has changed is read until it is there.
func TestReadsThatLag(t *testing.T) {
	f := newFixture(t, builtIn(t))
	defer f.start()()
	f.finds("ferry", "200")
	f.write("a", map[string]any{"text": "ferry"})
	f.store.lag.Store(5)
	f.finds("ferry", "200 a")
}

// Between the search and the reading of what it found, an article may change.
func TestChangedMeanwhile(t *testing.T) {
	f := newFixture(t, builtIn(t))
	f.write("a", map[string]any{"text": "ferry"})
	f.write("b", map[string]any{"text": "ferry"})
	stop := f.start()
	f.finds("ferry", "200 a b")
	stop()
	// Nobody but the searches reads now: once the changes have been looked for,
	// the first Read is for the filter, and the second for what was found.
	steps := []func(){func() {}, func() { f.write("a", map[string]any{"objectState": "HIDDEN"}) }}
	var inside atomic.Bool
	f.store.read = func() {
		if inside.CompareAndSwap(false, true) {
			defer inside.Store(false)
			if len(steps) > 0 {
				step := steps[0]
				steps = steps[1:]
				step()
			}
		}
	}
	// Check of the targeting reads first, where there are references: here are
	// none.
	f.finds("ferry", "200 b")
	if len(steps) != 0 {
		t.Error("nothing was changed meanwhile")
	}
	// One that changes again and again is shown as it is in the end.
	times := 0
	f.store.read = func() {
		if inside.CompareAndSwap(false, true) {
			defer inside.Store(false)
			times++
			f.write("b", map[string]any{"title": fmt.Sprint("ferry ", times)})
		}
	}
	f.finds("ferry", "200 b")
	if times < 2*attempts {
		t.Errorf("the article changed %d times", times)
	}
	state := func(times int) string { return []string{"ACTIVE", "INACTIVE"}[times%2] }
	f.store.read = func() {
		if inside.CompareAndSwap(false, true) {
			defer inside.Store(false)
			times++
			f.write("b", map[string]any{"objectState": state(times)})
		}
	}
	if got := f.find("ferry"); got != "200" && got != "200 b" {
		t.Errorf("of an article that comes and goes, the search finds %s", got)
	}
}

// What the caller does not see is neither listed nor counted.
func TestOnlyWhatTheCallerSees(t *testing.T) {
	f := newFixture(t, builtIn(t))
	for _, id := range []string{"a", "b", "c"} {
		f.write(id, map[string]any{"text": "ferry", "title": id})
	}
	defer f.start()()
	f.finds("ferry", "200 a b c")
	types, err := f.engine.Type(Name)
	if err != nil {
		t.Fatal(err)
	}
	title, err := types.Field("", "title")
	if err != nil {
		t.Fatal(err)
	}
	f.access.articles = query.In{Field: title, Values: []any{"a", "c"}}
	f.finds("ferry", "200 a c")
	f.access.articles = query.Or{} // nothing
	f.finds("ferry", "200")
}

func TestCountriesOfHosts(t *testing.T) {
	for host, want := range map[string]string{"www.example.no": "NO", "example.co.uk": "GB", "example.com": "", "no": "", "": "", "192.0.2.10": "", "2001:db8::ab": ""} {
		if got := countryOf(host); got != want {
			t.Errorf("%s is of %q, want %q", host, got, want)
		}
	}
}

// Schemas may be loaded anew, and need not have articles.
func TestSchemasAreReloaded(t *testing.T) {
	types := load(t, schema.Source{FS: fstest.MapFS{"notes.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Note", "description": "N.",
		"x-resource": {"path": "notes"}, "type": "object", "properties": {"name": {"type": "string", "description": "N."}}}`)}}})
	f := newFixture(t, types)
	defer f.start()()
	f.finds("ferry", "404 error.type.unknown")
	if err := f.engine.Swap(t.Context(), builtIn(t)); err != nil {
		t.Fatal(err)
	}
	f.write("a", map[string]any{"text": "ferry"})
	f.finds("ferry", "200 a")
	if err := f.engine.Swap(t.Context(), builtIn(t)); err != nil {
		t.Fatal(err)
	}
	f.write("b", map[string]any{"text": "ferry"})
	f.finds("ferry", "200 a b")
	if err := f.engine.Swap(t.Context(), types); err != nil {
		t.Fatal(err)
	}
	f.finds("ferry", "404 error.type.unknown")
}

// Nothing is left of a follower that was stopped, in whatever it was.
func TestStopsAtOnce(t *testing.T) {
	f := newFixture(t, builtIn(t))
	f.finds("ferry", "503 error.article.index.not.ready")
	for n := range 300 {
		f.write(fmt.Sprint(n), map[string]any{"text": strings.Repeat("ferry boat ", 100)})
	}
	silent := make(chan struct{})
	defer close(silent)
	f.search.Embed(stuck{silent})
	for n := range 20 {
		stop := f.start()
		for range n * n * 100 { // each time it has come further
			runtime.Gosched()
		}
		stop()
		var all bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&all, 2); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(all.String(), "articlesearch.(*follower)") {
			t.Fatalf("it goes on:\n%s", all.String())
		}
	}
}

// stuck is an embeddings service that does not answer.
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

// counting counts how many articles were ever embedded.
type counting struct {
	n    *atomic.Int64
	down *atomic.Bool
}

func (counting) Batch() int { return 7 }

func (c counting) Embed(_ context.Context, texts []string) ([][]float64, error) {
	if c.down.Load() {
		return nil, &article.UnavailableError{Reason: "it is down"}
	}
	c.n.Add(int64(len(texts)))
	vectors := make([][]float64, len(texts))
	for i := range texts {
		vectors[i] = []float64{1, float64(len(texts[i]))}
	}
	return vectors, nil
}

// While the embeddings service is down, no more texts are kept than are taken
// in at once, and what has been embedded is not asked for again.
func TestEmbeddingsAreDownWhileFilling(t *testing.T) {
	f := newFixture(t, builtIn(t))
	types, err := f.engine.Type(Name)
	if err != nil {
		t.Fatal(err)
	}
	const articles = maxPending + 10*page
	for from := 0; from < articles; from += 1000 {
		batch := engine.Batch{Network: "main"}
		for n := from; n < min(from+1000, articles); n++ {
			batch.Operations = append(batch.Operations, engine.Operation{Type: types, Object: map[string]any{
				"id": fmt.Sprint(n), "url": fmt.Sprint("https://example.com/", n), "text": fmt.Sprint("ferry ", n)}})
		}
		if _, err := f.engine.Write(context.Background(), caller, batch); err != nil {
			t.Fatal(err)
		}
	}
	embedder := counting{&atomic.Int64{}, &atomic.Bool{}}
	embedder.down.Store(true)
	var index article.Index
	f.search.newIndex = func() article.Index { index = article.NewDense(embedder); return index }
	follow := newFollower(f.engine, f.search.newIndex, slog.New(slog.DiscardHandler))
	var kept *filling
	for range 5 {
		var unavailable *article.UnavailableError
		if err := follow.step(t.Context(), &kept); !errors.As(err, &unavailable) {
			t.Fatal(err)
		}
		if stats := index.Stats(); stats.Pending != maxPending {
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
	if stats := index.Stats(); stats.Articles != articles || stats.Pending != 0 || embedder.n.Load() != articles {
		t.Errorf("%+v, %d texts embedded", stats, embedder.n.Load())
	}
	// Later, the position stays where texts are taken in no longer.
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
	if stats := index.Stats(); stats.Pending != 0 || embedder.n.Load() != articles+3*page {
		t.Errorf("%+v, %d texts embedded", stats, embedder.n.Load())
	}
}
