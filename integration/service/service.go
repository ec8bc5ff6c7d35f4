// Package service gives the suites the service in the process, on each real store with
// nothing replaced: it starts servers, signs users in, sends requests, and judges responses
// by what the service promises of all of them. It may import every package. Begin with
// service.go and conversation.go.
package service

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
	Network       = "main"
	Admin         = "admin"
	AdminPassword = "a password to test with"
)

// Service is the service on one store. It can be stopped and started again.
type Service struct {
	TB      testing.TB
	URI     string // of the store
	Key     string // a file
	Schemas []fs.FS
	Clock   *Clock
	UserID  string
	// deadline is the time limit of requests, if it is set.
	Deadline time.Duration
	// memory is the number of bytes that requests may use together, if it is set.
	Memory int64

	// configure changes the options of the server, if it is set.
	Configure func(*marquee.Options)

	// wrap is between the service and its store, if it is set.
	Wrap func(store.Store) store.Store

	// plain is served in place of the advertising application, if it is set; types is
	// then nil.
	Plain *marquee.Application

	Store   store.Store
	Marquee *marquee.Server
	Engine  *engine.Engine
	Options marquee.Options
	Types   *resources.Service
	// embedder makes the vectors of articles, if it is set.
	Embedder   index.Embedder
	StopSearch func()
	Server     *httptest.Server
	Client     *http.Client
	Camera     camera
	// errors is what the service has logged as errors.
	errors *Output
	// judged services answer as the OpenAPI document says.
	Judged    bool
	contracts contractCache
}

// Clock is the real time and what a case adds to it. It never shows a
// millisecond twice, so that a write is always later than the one before.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
	last  time.Time
	// stopped is the time that a clock shows that has been stopped.
	stopped time.Time
}

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
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

// Stop lets the clock show one time until the next.
func (c *Clock) Stop(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = at
}

// Advance puts the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// New starts the advertising service on a new store, with the types of
// more folders, and makes its first network and user.
func New(tb testing.TB, fresh NewStore, more ...fs.FS) *Service {
	tb.Helper()
	return StartNew(&Service{TB: tb, URI: fresh(tb), Schemas: more})
}

// NewPlain is New without an application.
func NewPlain(tb testing.TB, fresh NewStore, more ...fs.FS) *Service {
	tb.Helper()
	return StartNew(&Service{TB: tb, URI: fresh(tb), Schemas: more, Plain: &marquee.Application{}})
}

// StartNew starts a service whose fields the caller has set, and makes its first network
// and user. The service ends with the test.
func StartNew(s *Service) *Service {
	s.TB.Helper()
	s.Key = filepath.Join(s.TB.TempDir(), "marquee.key")
	if s.Clock == nil {
		s.Clock, s.UserID = &Clock{}, store.NewID()
	}
	s.Start()
	if err := s.bootstrap(); err != nil {
		s.TB.Fatal(err)
	}
	s.TB.Cleanup(s.End)
	return s
}

// application is what the service serves besides the types of folders.
func (s *Service) application() marquee.Application {
	if s.Plain != nil {
		return *s.Plain
	}
	s.Types = resources.New()
	if s.Embedder != nil {
		s.Types.Articles.Embed(s.Embedder)
	}
	return s.Types.Application()
}

// advertising are the types of the advertising application, which servers share: they
// take a tenth of a second to load.
var advertising = sync.OnceValues(func() (*schema.Registry, error) {
	app := resources.New().Application()
	return app.Load()
})

// load returns the types of an application and of more sources.
func load(app marquee.Application, isAdvertising bool, more []schema.Source) (*schema.Registry, error) {
	if isAdvertising && len(more) == 0 {
		return advertising()
	}
	return app.Load(more...)
}

// Load returns the types of the service's application and those of a folder.
func (s *Service) Load(folder fs.FS) (*schema.Registry, error) {
	app := s.Plain
	if app == nil {
		advertising := resources.New().Application()
		app = &advertising
	}
	return app.Load(schema.Source{Name: "schemas", FS: folder})
}

// Start opens the store and serves it, as the program does.
func (s *Service) Start() *engine.Engine {
	s.TB.Helper()
	must := func(err error) {
		s.TB.Helper()
		if err != nil {
			s.TB.Fatal(err)
		}
	}
	app := s.application()
	var sources []schema.Source
	for _, folder := range s.Schemas {
		sources = append(sources, schema.Source{Name: "schemas", FS: folder})
	}
	registry, err := load(app, s.Plain == nil, sources)
	must(err)
	if s.Plain == nil {
		must(prepareFile(s.URI))
	}
	s.Store, err = OpenStore(s.TB, s.URI)
	must(err)
	if s.Wrap != nil {
		s.Store = s.Wrap(s.Store)
	}
	must(seal.CreateKeyFile(s.Key))
	keys, err := seal.ReadKeyFiles(s.Key)
	must(err)
	sealer, err := seal.New(keys...)
	must(err)
	s.errors = NewOutput()
	s.Options = marquee.Options{Log: slog.New(slog.NewTextHandler(s.errors, &slog.HandlerOptions{Level: slog.LevelError})), Application: app, Types: registry, Store: s.Store, Sealer: sealer,
		Now: s.Clock.Now, RequestTimeout: s.Deadline, Memory: s.Memory}
	if s.Configure != nil {
		s.Configure(&s.Options)
	}
	s.Marquee, err = marquee.Open(context.Background(), s.Options)
	must(err)
	s.Engine = s.Marquee.Engine()
	s.StopSearch = func() {}
	if s.Types != nil {
		s.StopSearch = s.Types.Articles.Start(s.Engine, slog.New(slog.DiscardHandler))
	}
	s.Server = httptest.NewUnstartedServer(nil)
	s.Server.Config.MaxHeaderBytes = 64 << 10
	s.Server.Listener = s.Marquee.Listen(s.Server.Config, s.Server.Listener)
	s.Server.Start()
	s.Client = &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.Camera, err = newCamera(s.URI)
	must(err)
	return s.Engine
}

// Stop closes the server and its store, which Start opens again.
func (s *Service) Stop() {
	s.Server.Close()
	s.Client.CloseIdleConnections()
	s.StopSearch()
	if err := s.Camera.Close(); err != nil {
		s.TB.Error(err)
	}
	if err := s.Store.Close(); err != nil {
		s.TB.Error(err)
	}
}

// End stops the service and forgets what it has used: package testing keeps the functions
// of Cleanup, and with them the services of all parallel tests, until the last has ended.
func (s *Service) End() {
	s.Stop()
	*s = Service{TB: s.TB}
}

// Pass does what the service does from time to time.
func (s *Service) Pass() error {
	return s.Marquee.Pass(context.Background(), slog.New(slog.DiscardHandler))
}

// bootstrap makes the first network, role and user.
func (s *Service) bootstrap() error {
	return s.Marquee.MakeFirst(context.Background(), marquee.First{Network: Network, Username: Admin, Password: AdminPassword, UserID: s.UserID, RoleID: "administrator"})
}

// SignIn gets a token for a user, whose password is that of the cases.
func (s *Service) SignIn(username string) (string, error) {
	form := url.Values{"grant_type": {"password"}, "username": {username}, "password": {"a password to test with"}}
	a, err := s.Send(http.MethodPost, "/api/authenticate", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	object, _ := a.JSON().(map[string]any)
	token, _ := object["access_token"].(string)
	if a.Status != http.StatusOK || token == "" {
		return "", fmt.Errorf("%s cannot sign in: %d %s", username, a.Status, a.Body)
	}
	return token, nil
}
