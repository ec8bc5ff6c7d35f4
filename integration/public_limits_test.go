package integration

import (
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"marquee"
	"marquee/engine/rest"
	"marquee/integration/service"
)

// visit asks for a path without a token, as a client of an address.
func visit(t *testing.T, s *service.Service, path, address string) *service.Answer {
	t.Helper()
	a, err := s.Send(http.MethodGet, path, http.Header{"X-Forwarded-For": {address}}, strings.NewReader(""))
	if err != nil {
		t.Error(err)
		return &service.Answer{Header: http.Header{}}
	}
	return a
}

// shop serves offers that anybody can read.
func shop(t *testing.T, configure func(*marquee.Options)) (s *service.Service, token string) {
	t.Helper()
	s = service.StartNew(&service.Service{TB: t, URI: service.NewSQLite(t), Memory: 32 << 20, Plain: &marquee.Application{}, Configure: func(o *marquee.Options) {
		o.TrustedProxies = []string{"127.0.0.0/8"}
		configure(o)
	}, Schemas: []fs.FS{service.TypeWith("offers", `, "public": {}`, `"name": {"type": "string"}`)}})
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/offers?context=main", `[{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]`, http.StatusOK)
	return s, token
}

// TestPublicRateLimit: requests without a token are limited by their address as the requests
// of a caller are, a /64 network of IPv6 together, and those of users are not.
func TestPublicRateLimit(t *testing.T) {
	t.Parallel()
	s, token := shop(t, func(o *marquee.Options) {
		o.RateLimits = rest.RateLimits{Caller: rest.Rate{Objects: 10, Window: 24 * time.Hour}}
	})
	for n, want := range []int{200, 200, 200, 200, 200, 429, 429} { // of two objects each
		a := visit(t, s, "/api/v1/offers?context=main", fmt.Sprintf("2001:db8::%d", n+1))
		if a.Status != want {
			t.Errorf("request %d: %d instead of %d: %s", n, a.Status, want, a.Body)
		}
		if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); want == 429 && (err != nil || seconds < 1) {
			t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
		}
	}
	if a := visit(t, s, "/api/v1/offers?context=main", "2001:db8:0:1::1"); a.Status != http.StatusOK {
		t.Errorf("another network: %d", a.Status)
	}
	if a := s.Ask(token, http.MethodGet, "/api/v1/offers/a?context=main", "", nil); a.Status != http.StatusOK {
		t.Errorf("a user: %d %s", a.Status, a.Body)
	}
}

// TestManyVisitors: a thousand addresses that ask without a token at the same time do not
// keep a user waiting, who would otherwise have one turn in a thousand.
func TestManyVisitors(t *testing.T) {
	t.Parallel()
	s, token := shop(t, func(*marquee.Options) {})
	const addresses = 1000
	var wait sync.WaitGroup
	var done atomic.Bool
	var served, busy atomic.Int64
	for n := range addresses {
		wait.Go(func() {
			for !done.Load() && !t.Failed() {
				switch a := visit(t, s, "/api/v1/offers?context=main&count=true", fmt.Sprintf("10.1.%d.%d", n/250, n%250+1)); {
				case a.Status == http.StatusOK:
					served.Add(1)
				case a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "":
					busy.Add(1)
				default:
					t.Errorf("%d %v %.200s", a.Status, a.Header, a.Body)
				}
			}
		})
	}
	var longest time.Duration
	var most int64
	for n := 0; n < 40 || served.Load() < addresses && !t.Failed(); n++ {
		began, before := time.Now(), served.Load()
		a := s.Ask(token, http.MethodGet, "/api/v1/offers?context=main&count=true", "", nil)
		longest, most = max(longest, time.Since(began)), max(most, served.Load()-before)
		if a.Status != http.StatusOK {
			t.Errorf("the user gets %d %s", a.Status, a.Body)
		}
	}
	done.Store(true)
	wait.Wait()
	t.Logf("%d answers without a token and %d refusals; the user waits for %v and %d of them at most", served.Load(), busy.Load(), longest, most)
	if most >= addresses { // they take turns, so that the user need not wait for each of them
		t.Errorf("the user waits while %d others are served", most)
	}
}
