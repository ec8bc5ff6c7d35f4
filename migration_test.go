package marquee_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// stuck is a store whose collections become ready when a channel is closed, if there is
// one.
type stuck struct {
	store.Store
	ready atomic.Pointer[chan struct{}]
}

func (s *stuck) EnsureCollections(ctx context.Context, collections []store.Collection) error {
	if ready := s.ready.Load(); ready != nil {
		store.Step(ctx, "indexing notes")
		store.Advance(ctx, 12000)
		<-*ready
	}
	return s.Store.EnsureCollections(ctx, collections)
}

// A migration that takes long shows its progress in /readyz and in the log, until it ends.
func TestMigrationShowsItsProgress(t *testing.T) {
	log := &lines{}
	held := &stuck{Store: ownStore(t)}
	s := open(t, marquee.Options{Store: held, Schemas: notes, Log: slog.New(slog.NewTextHandler(log, nil))})
	app := marquee.Application{}
	types, err := app.Load(schema.Source{Name: "schemas", FS: notes}, schema.Source{Name: "more", FS: fstest.MapFS{
		"things.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "x-resource": {"path": "things"}, "type": "object", "properties": {"name": {"type": "string"}}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	held.ready.Store(&stop)
	ready := func() string {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return answer.Body.String()
	}
	before := ready()
	migrated := make(chan error)
	go func() { migrated <- s.Migrate(context.Background(), types) }()
	for said := before; !strings.Contains(said, `"reload":"indexing notes, 12,000 objects so far"`); said = ready() {
		if !strings.Contains(said, `"status":"ready"`) {
			t.Fatal(said)
		}
	}
	close(stop)
	if err := <-migrated; err != nil {
		t.Fatal(err)
	}
	after := ready()
	if strings.Contains(after, "notes") || !strings.Contains(after, types.Digest()) || strings.Contains(before, types.Digest()) {
		t.Errorf("before %s, after %s", before, after)
	}
	if text := log.String(); !strings.Contains(text, `msg="loading the schemas" step="indexing notes, 12,000 objects so far"`) || !strings.Contains(text, `msg="done: indexing notes" objects=12000`) {
		t.Errorf("the log says %s", text)
	}
}
