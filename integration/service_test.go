// Package integration tests the whole service over HTTP: the REST layer, the engine,
// the sign-in and each real store, with nothing replaced. It may import every package.
// Begin with testdata/README.md, which describes how to add a case without Go, and
// fixture_test.go, which runs them.
package integration

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee"
	"marquee/auth/seal"
	"marquee/engine"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/resources"
	"marquee/resources/article/index"
)

const (
	network       = "main"
	admin         = "admin"
	adminPassword = "a password to test with"
)

// service is the service on one store. It can be stopped and started again.
type service struct {
	tb      testing.TB
	uri     string // of the store
	key     string // a file
	schemas []fs.FS
	clock   *clock
	userID  string
	// deadline is the time limit of requests, if it is set.
	deadline time.Duration
	// memory is the number of bytes that requests may use together, if it is set.
	memory int64

	// configure changes the options of the server, if it is set.
	configure func(*marquee.Options)

	// wrap is between the service and its store, if it is set.
	wrap func(store.Store) store.Store

	// plain is served in place of the advertising application, if it is set; types is
	// then nil.
	plain *marquee.Application

	store   store.Store
	marquee *marquee.Server
	engine  *engine.Engine
	options marquee.Options
	types   *resources.Service
	// embedder makes the vectors of articles, if it is set.
	embedder   index.Embedder
	stopSearch func()
	server     *httptest.Server
	client     *http.Client
	camera     camera
	// errors is what the service has logged as errors.
	errors *procOutput
	// judged services answer as the OpenAPI document says.
	judged    bool
	contracts contractCache
}

// clock is the real time and what a case adds to it. It never shows a
// millisecond twice, so that a write is always later than the one before.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
	last  time.Time
	// stopped is the time that a clock shows that has been stopped.
	stopped time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.IsZero() {
		return c.stopped
	}
	now := time.Now().Add(c.ahead).Truncate(time.Millisecond)
	if !now.After(c.last) {
		now = c.last.Add(time.Millisecond)
	}
	c.last = now
	return now
}

// stop lets the clock show one time until the next.
func (c *clock) stop(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// newService starts the advertising service on a new store, with the types of
// more folders, and makes its first network and user.
func newService(tb testing.TB, fresh newStore, more ...fs.FS) *service {
	tb.Helper()
	return startNew(&service{tb: tb, uri: fresh(tb), schemas: more})
}

// newPlainService is newService without an application.
func newPlainService(tb testing.TB, fresh newStore, more ...fs.FS) *service {
	tb.Helper()
	return startNew(&service{tb: tb, uri: fresh(tb), schemas: more, plain: &marquee.Application{}})
}

func startNew(s *service) *service {
	s.tb.Helper()
	s.key = filepath.Join(s.tb.TempDir(), "marquee.key")
	if s.clock == nil {
		s.clock, s.userID = &clock{}, store.NewID()
	}
	s.start()
	if err := s.bootstrap(); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(s.end)
	return s
}

// application is what the service serves besides the types of folders.
func (s *service) application() marquee.Application {
	if s.plain != nil {
		return *s.plain
	}
	s.types = resources.New()
	if s.embedder != nil {
		s.types.Articles.Embed(s.embedder)
	}
	return s.types.Application()
}

// start opens the store and serves it, as the program does.
func (s *service) start() *engine.Engine {
	s.tb.Helper()
	must := func(err error) {
		s.tb.Helper()
		if err != nil {
			s.tb.Fatal(err)
		}
	}
	app := s.application()
	var sources []schema.Source
	for _, folder := range s.schemas {
		sources = append(sources, schema.Source{Name: "schemas", FS: folder})
	}
	registry, err := app.Load(sources...)
	must(err)
	s.store, err = openStore(s.tb, s.uri)
	must(err)
	if s.wrap != nil {
		s.store = s.wrap(s.store)
	}
	must(seal.CreateKeyFile(s.key))
	keys, err := seal.ReadKeyFiles(s.key)
	must(err)
	sealer, err := seal.New(keys...)
	must(err)
	s.errors = newProcOutput()
	s.options = marquee.Options{Log: slog.New(slog.NewTextHandler(s.errors, &slog.HandlerOptions{Level: slog.LevelError})), Application: app, Types: registry, Store: s.store, Sealer: sealer,
		Now: s.clock.now, RequestTimeout: s.deadline, Memory: s.memory}
	if s.configure != nil {
		s.configure(&s.options)
	}
	s.marquee, err = marquee.Open(context.Background(), s.options)
	must(err)
	s.engine = s.marquee.Engine()
	s.stopSearch = func() {}
	if s.types != nil {
		s.stopSearch = s.types.Articles.Start(s.engine, slog.New(slog.DiscardHandler))
	}
	s.server = httptest.NewUnstartedServer(nil)
	s.server.Config.MaxHeaderBytes = 64 << 10
	s.server.Listener = s.marquee.Listen(s.server.Config, s.server.Listener)
	s.server.Start()
	s.client = &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.camera, err = newCamera(s.uri)
	must(err)
	return s.engine
}

func (s *service) stop() {
	s.server.Close()
	s.client.CloseIdleConnections()
	s.stopSearch()
	if err := s.camera.close(); err != nil {
		s.tb.Error(err)
	}
	if err := s.store.Close(); err != nil {
		s.tb.Error(err)
	}
}

// end stops the service and forgets what it has used: package testing keeps the functions
// of Cleanup, and with them the services of all parallel tests, until the last has ended.
func (s *service) end() {
	s.stop()
	*s = service{tb: s.tb}
}

// pass does what the service does from time to time.
func (s *service) pass() error {
	return s.marquee.Pass(context.Background(), slog.New(slog.DiscardHandler))
}

// bootstrap makes the first network, role and user.
func (s *service) bootstrap() error {
	return s.marquee.MakeFirst(context.Background(), marquee.First{Network: network, Username: admin, Password: adminPassword, UserID: s.userID, RoleID: "administrator"})
}

// signIn gets a token for a user, whose password is that of the cases.
func (s *service) signIn(username string) (string, error) {
	form := url.Values{"grant_type": {"password"}, "username": {username}, "password": {"a password to test with"}}
	a, err := s.send(http.MethodPost, "/api/authenticate", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	object, _ := a.json().(map[string]any)
	token, _ := object["access_token"].(string)
	if a.status != http.StatusOK || token == "" {
		return "", fmt.Errorf("%s cannot sign in: %d %s", username, a.status, a.body)
	}
	return token, nil
}
