// Package integration asks the whole service over HTTP: the REST layer, the
// engine, the sign-in and each real store, with nothing replaced.
// testdata/README.md tells how to add a case without Go.
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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/auth"
	"marquee/engine"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/resources"
	"marquee/resources/article"
	"marquee/schemas"
)

const (
	network       = "main"
	admin         = "admin"
	adminPassword = "password of admin"
)

// service is the service on one store. It can be stopped and started again.
type service struct {
	tb      testing.TB
	uri     string // of the store
	key     string // a file
	schemas []fs.FS
	clock   *clock
	userID  string

	store  store.Store
	engine *engine.Engine
	types  *resources.Service
	// embedder makes the vectors of articles, if it is set.
	embedder   article.Embedder
	stopSearch func()
	server     *httptest.Server
	client     *http.Client
	camera     camera
}

// clock is the real time and what a case adds to it. It never shows a
// millisecond twice, so that a write is always later than the one before.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
	last  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now().Add(c.ahead).Truncate(time.Millisecond)
	if !now.After(c.last) {
		now = c.last.Add(time.Millisecond)
	}
	c.last = now
	return now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// newService starts a service on a new store with the built-in types and those
// of more folders, and makes its first network and user.
func newService(tb testing.TB, fresh newStore, more ...fs.FS) *service {
	tb.Helper()
	s := &service{tb: tb, uri: fresh(tb), key: filepath.Join(tb.TempDir(), "marquee.key"), schemas: more, clock: &clock{}, userID: engine.NewID()}
	e := s.start()
	if err := s.bootstrap(e); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.stop)
	return s
}

// start opens the store and serves it, as the program does.
func (s *service) start() *engine.Engine {
	s.tb.Helper()
	ctx := context.Background()
	must := func(err error) {
		s.tb.Helper()
		if err != nil {
			s.tb.Fatal(err)
		}
	}
	sources := []schema.Source{{FS: schemas.FS}}
	for _, folder := range s.schemas {
		sources = append(sources, schema.Source{Name: "schemas", FS: folder})
	}
	registry, err := schema.Load(sources...)
	must(err)
	s.store, err = openStore(s.tb, s.uri)
	must(err)
	key, err := auth.KeyFile(s.key)
	must(err)
	sealer, err := auth.NewSealer(key)
	must(err)
	must(s.store.EnsureCollections(ctx, auth.Collections()))
	authService, err := auth.NewService(ctx, s.store, sealer, auth.DefaultLifetimes, s.clock.now)
	must(err)
	types := resources.New()
	if s.embedder != nil {
		types.Articles.Embed(s.embedder)
	}
	e, err := engine.New(ctx, engine.Config{Store: s.store, Access: auth.Access{}, Sealer: sealer, Now: s.clock.now,
		Hooks: types.Hooks(authService.Hooks()), Lookups: types.Lookups(), Internal: slices.Concat(auth.Collections(), resources.Collections())}, registry)
	must(err)
	config := rest.Config{Engine: e, Auth: authService, Log: slog.New(slog.DiscardHandler), Ready: s.store.Check}
	types.Serve(&config)
	handler, err := rest.New(config)
	must(err)
	authService.Routes(handler.Router())
	s.stopSearch = types.Articles.Start(e, slog.New(slog.DiscardHandler))
	s.server = httptest.NewServer(handler)
	s.client = &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.camera, err = newCamera(s.uri)
	must(err)
	s.engine, s.types = e, types
	return e
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

// pass does what the service does from time to time.
func (s *service) pass() error {
	return s.types.Pass(context.Background(), s.engine, slog.New(slog.DiscardHandler))
}

// bootstrap makes the first network, role and user.
func (s *service) bootstrap(e *engine.Engine) error {
	operation := func(name string, object map[string]any) engine.Operation {
		t, err := e.Type(name)
		if err != nil {
			s.tb.Fatal(err)
		}
		return engine.Operation{Type: t, Object: object}
	}
	permissions := make([]any, len(auth.Permissions))
	for i, permission := range auth.Permissions {
		permissions[i] = permission
	}
	_, err := e.Write(context.Background(), &engine.Caller{System: true, User: s.userID}, engine.Batch{
		Network: network, FieldValidation: engine.Strict, Operations: []engine.Operation{
			operation("networks", map[string]any{"id": network, "name": network}),
			operation("roles", map[string]any{"id": "administrator", "name": "Administrator", "scope": "NETWORK", "permissions": permissions}),
			operation("users", map[string]any{"id": s.userID, "username": admin, "password": adminPassword,
				"userRoles": map[string]any{"rolesByNetwork": []any{map[string]any{
					"network": network, "roles": []any{map[string]any{"role": "administrator"}}}}}}),
		}})
	return err
}

// signIn gets a token for a user, whose password is that of the cases.
func (s *service) signIn(username string) (string, error) {
	form := url.Values{"grant_type": {"password"}, "username": {username}, "password": {"password of " + username}}
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
