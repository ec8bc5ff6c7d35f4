// Package bench measures the service against baselines in the same run and prints the
// ratios (docs/contributing/benchmarks.md); `make bench` runs it. It may import everything
// that the program does, and the drivers, which the baselines use. Begin with this file,
// which starts the service, and read_test.go.
package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"marquee"
	"marquee/auth"
	"marquee/auth/rights"
	"marquee/auth/seal"
	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/resources"
)

// service is the whole stack on a store, in this process.
type service struct {
	store   store.Store
	marquee *marquee.Server
	engine  *engine.Engine
	types   *resources.Service
	auth    *auth.Service
	server  *httptest.Server
	token   string
	caller  *engine.Caller
}

const network = "main"

// serve opens a service on a store, which it closes in the end.
func serve(tb testing.TB, opened store.Store) *service { return serveWith(tb, opened, nil) }

// serveWith is serve with types besides those of the application.
func serveWith(tb testing.TB, opened store.Store, schemas fs.FS) *service {
	tb.Helper()
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	key := make([]byte, seal.KeyBytes)
	rand.Read(key)
	sealer, err := seal.New(key)
	must(err)
	types := resources.New()
	s := &service{store: opened, types: types}
	s.marquee, err = marquee.Open(ctx, marquee.Options{Application: types.Application(), Schemas: schemas, Store: opened, Sealer: sealer})
	must(err)
	s.engine, s.auth = s.marquee.Engine(), s.marquee.Auth()
	s.bootstrap(tb)
	s.server = httptest.NewServer(s.marquee)
	stopSearch := types.Articles.Start(s.engine, slog.New(slog.DiscardHandler))
	tb.Cleanup(func() {
		s.server.Close()
		stopSearch()
		must(s.store.Close())
	})
	return s
}

// onSQLite opens a new SQLite file.
func onSQLite(tb testing.TB, beforeCommit func()) (opened *sqlite.Store, path string) {
	path = filepath.Join(tb.TempDir(), "bench.db")
	opened, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, BeforeCommit: beforeCommit})
	if err != nil {
		tb.Fatal(err)
	}
	return opened, path
}

// fresh is a service on a new SQLite file.
func fresh(tb testing.TB) *service {
	opened, _ := onSQLite(tb, nil)
	return serve(tb, opened)
}

func (s *service) bootstrap(tb testing.TB) {
	ctx := context.Background()
	op := func(name string, object map[string]any) engine.Operation {
		t, err := s.engine.Type(name)
		if err != nil {
			tb.Fatal(err)
		}
		return engine.Operation{Type: t, Object: object}
	}
	_, err := s.engine.Write(ctx, &engine.Caller{System: true, User: "admin"}, engine.Batch{Network: network, Operations: []engine.Operation{
		op("networks", map[string]any{"id": network, "name": network}),
		op("roles", map[string]any{"id": "admin", "name": "Administrator", "scope": "NETWORK", "permissions": []any{resources.ManageBusiness, "MANAGE_LAYOUTS", rights.ManageSystem}}),
		op("users", map[string]any{"id": "admin", "username": "admin", "password": "a password to test with", "userRoles": map[string]any{
			"rolesByNetwork": []any{map[string]any{"network": network, "roles": []any{map[string]any{"role": "admin"}}}}}}),
	}})
	if err != nil {
		tb.Fatal(err)
	}
	tokens, err := s.auth.Sessions.SignIn(ctx, "", "admin", "a password to test with", network)
	if err != nil {
		tb.Fatal(err)
	}
	s.token = tokens.AccessToken
	if s.caller, err = s.auth.Caller(ctx, s.token); err != nil {
		tb.Fatal(err)
	}
}

// write stores objects of one type through the engine.
func (s *service) write(tb testing.TB, name string, objects []map[string]any) {
	tb.Helper()
	t, err := s.engine.Type(name)
	if err != nil {
		tb.Fatal(err)
	}
	batch := engine.Batch{Network: network, Listed: true}
	for _, object := range objects {
		batch.Operations = append(batch.Operations, engine.Operation{Type: t, Object: object})
	}
	if _, err := s.engine.Write(context.Background(), s.caller, batch); err != nil {
		tb.Fatal(err)
	}
}

// parties are what line items refer to.
func (s *service) parties(tb testing.TB, orders int) {
	s.write(tb, "advertisers", []map[string]any{{"id": "a", "name": "Advertiser"}})
	s.write(tb, "tiers", []map[string]any{{"id": "t", "name": "Tier"}})
	var list []map[string]any
	for i := range orders {
		list = append(list, map[string]any{"id": fmt.Sprintf("o%d", i), "name": fmt.Sprintf("Order %d", i), "advertiser": "a"})
	}
	for len(list) > 0 {
		n := min(len(list), 1000)
		s.write(tb, "orders", list[:n])
		list = list[n:]
	}
}

func lineItem(i, orders int) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("li-%08d", i), "name": fmt.Sprintf("Line item %08d", (i*7919)%100_000_007),
		"order": fmt.Sprintf("o%d", i%orders), "tier": "t", "startDate": "2030-05-01T00:00:00Z", "endDate": "2030-08-31T22:00:00Z",
		"objectives":       map[string]any{"IMPRESSION": int64(500_000 + i)},
		"bidSpecification": map[string]any{"cpm": map[string]any{"amount": 4.5, "currency": "EUR"}},
		"labels":           []any{"summer", "front"},
		"rateLimits":       []any{map[string]any{"amount": int64(3), "periodType": "DAYS", "scope": "PER_USER", "type": "IMPRESSION"}},
	}
}

// load stores n line items, evenly over the orders.
func (s *service) load(tb testing.TB, n, orders int) {
	s.parties(tb, orders)
	batch := make([]map[string]any, 0, 1000)
	for i := range n {
		if batch = append(batch, lineItem(i, orders)); len(batch) == cap(batch) || i == n-1 {
			s.write(tb, "lineitems", batch)
			batch = batch[:0]
		}
	}
}

func (s *service) request(tb testing.TB, path string) *http.Request {
	r, err := http.NewRequest(http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	return r
}

// post writes line items in one call over HTTP, and returns how long it took.
func (s *service) post(tb testing.TB, list []any) time.Duration {
	tb.Helper()
	body := document.Append(nil, list)
	r, err := http.NewRequest(http.MethodPost, s.server.URL+"/api/v1/lineitems?context="+network, bytes.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	began := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK {
		tb.Fatal(answer.StatusCode, string(text[:min(len(text), 500)]), err)
	}
	return time.Since(began)
}

// page reads a page over HTTP, and returns how long it took.
func (s *service) page(tb testing.TB, path string) time.Duration {
	tb.Helper()
	began := time.Now()
	answer, err := http.DefaultClient.Do(s.request(tb, path))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		tb.Fatal(answer.StatusCode, err)
	}
	answer.Body.Close()
	return time.Since(began)
}

// interleaved runs both in turn and returns the ratio of their total times,
// so that a machine whose speed drifts favours none of them.
func interleaved(rounds int, ours, baseline func() time.Duration) (a, b time.Duration) {
	for range rounds {
		a += ours()
		b += baseline()
	}
	return a, b
}

// typical runs both in turn, too, and returns the median of each, of which one
// call that had to wait for another process changes nothing.
func typical(rounds int, ours, baseline func() time.Duration) (a, b time.Duration) {
	var all [2][]time.Duration
	for range rounds {
		all[0], all[1] = append(all[0], ours()), append(all[1], baseline())
	}
	for _, times := range all {
		slices.Sort(times)
	}
	return all[0][rounds/2], all[1][rounds/2]
}
