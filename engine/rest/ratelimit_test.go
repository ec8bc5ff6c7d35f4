package rest

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{"6000/1m": {6000, time.Minute}, "10/s": {10, time.Second}, "1/24h": {1, 24 * time.Hour}, "5/1h30m": {5, 90 * time.Minute}} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "/", "10", "10/", "/1m", "0/1m", "-1/1m", "10/0s", "10/500ms", "10/1500ms", "10/25h", "10/-1m", "10/1", "1e9/1m", "10000000000/1m", "10/1m/1m"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// A client that waits for Retry-After is served, and one that waits less is not.
func TestWaitIsHonest(t *testing.T) {
	now := time.Duration(0)
	l := newLimiter("test", Rate{10, time.Minute}, func() time.Duration { return now })
	for i := range 10 {
		if level, wait := l.admit("a"); wait != 0 || int(level) != 9-i {
			t.Fatalf("%d: %v, %v", i, level, wait)
		}
	}
	for _, debt := range []int{0, 1, 25} {
		l.take("a", debt)
		_, wait := l.admit("a")
		if want := time.Duration(debt+1) * 6 * time.Second; (wait - want).Abs() > 100*time.Millisecond {
			t.Errorf("a debt of %d: %v", debt, wait)
		}
		now += wait - 10*time.Millisecond
		if _, wait := l.admit("a"); wait == 0 {
			t.Errorf("a debt of %d: admitted early", debt)
		}
		now += 20 * time.Millisecond
		if _, wait := l.admit("a"); wait != 0 {
			t.Errorf("a debt of %d: not admitted, wait %v more", debt, wait)
		}
	}
	now += 10 * time.Hour
	if level, _ := l.admit("a"); int(level) != 9 {
		t.Errorf("the bucket holds %v", level)
	}
	if level := l.take("a", -100); level != 10 {
		t.Errorf("more is returned than the bucket holds: %v", level)
	}
	if level, _ := l.admit("b"); int(level) != 9 {
		t.Errorf("another key: %v", level)
	}
}

// A client with many addresses makes no limiter grow, and pays no debt by it.
func TestLimiterIsBounded(t *testing.T) {
	now := time.Duration(0)
	l := newLimiter("test", Rate{10, time.Hour}, func() time.Duration { return now })
	l.take("debtor", 1000)
	for i := range 3 * maxBuckets {
		l.admit(fmt.Sprint(i))
	}
	if len(l.buckets) > maxBuckets {
		t.Errorf("%d buckets are kept", len(l.buckets))
	}
	if _, wait := l.admit("debtor"); wait == 0 {
		t.Error("the debt has been forgotten")
	}
}

func TestAddressesAreLimited(t *testing.T) {
	get := []string{http.MethodGet}
	s, err := New(Config{Log: slog.New(slog.DiscardHandler), TrustedProxies: []string{"10.0.0.0/8"}, RateLimits: RateLimits{Address: Rate{5, 24 * time.Hour}},
		Routes: []Route{
			{Path: "/one", Methods: get, Public: true, Serve: func(r *Call) error { return r.NoContent() }},
			{Path: "/four", Methods: get, Public: true, Serve: func(r *Call) error {
				r.Spend(100) // at first
				r.Spend(4)
				return r.NoContent()
			}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(path, remote, forwarded string) *httptest.ResponseRecorder {
		request := httptest.NewRequest(http.MethodGet, path, nil)
		request.RemoteAddr = remote
		if forwarded != "" {
			request.Header.Set("X-Forwarded-For", forwarded)
		}
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		return answer
	}
	for i, c := range []struct {
		path, remote, forwarded string
		status                  int
		limit                   string
	}{
		{"/four", "192.0.2.1:1", "", 204, `"objects-per-address";r=1;t=69120`},
		{"/nothing", "192.0.2.1:2", "198.51.100.9", 404, `"objects-per-address";r=0;t=86400`}, // the header is not trusted
		{"/one", "192.0.2.1:3", "", 429, `"objects-per-address";r=0;t=86400`},
		{"/healthz", "192.0.2.1:3", "", 200, ""},
		{"/one", "192.0.2.2:1", "", 204, `"objects-per-address";r=4;t=17280`},
		{"/four", "10.0.0.1:1", "203.0.113.5", 204, `"objects-per-address";r=1;t=69120`},
		{"/four", "10.0.0.2:1", "203.0.113.5, 10.0.0.9", 204, `"objects-per-address";r=0;t=138240`}, // served, with a debt
		{"/one", "10.0.0.1:1", "203.0.113.5", 429, `"objects-per-address";r=0;t=138240`},
		{"/one", "10.0.0.1:1", "203.0.113.6", 204, `"objects-per-address";r=4;t=17280`},
		{"/four", "[2001:db8::1]:1", "", 204, `"objects-per-address";r=1;t=69120`},
		{"/one", "[2001:db8::ffff:2]:1", "", 204, `"objects-per-address";r=0;t=86400`}, // the same /64
	} {
		answer := send(c.path, c.remote, c.forwarded)
		if answer.Code != c.status || answer.Header().Get("RateLimit") != c.limit {
			t.Errorf("%d: %d, %q", i, answer.Code, answer.Header().Get("RateLimit"))
		}
		if policy := answer.Header().Get("RateLimit-Policy"); c.limit != "" && policy != `"objects-per-address";q=5;w=86400` {
			t.Errorf("%d: RateLimit-Policy is %q", i, policy)
		}
		if retry := answer.Header().Get("Retry-After"); (retry != "") != (c.status == 429) {
			t.Errorf("%d: Retry-After is %q", i, retry)
		}
	}
}

// One expensive request, or several at once, delay others from the same address by the
// window at most. What a call returns of its estimate is not lost.
func TestDebtIsBounded(t *testing.T) {
	get := []string{http.MethodGet}
	inFlight, cost, proceed := make(chan bool), make(chan bool), make(chan bool)
	s, err := New(Config{Log: slog.New(slog.DiscardHandler), RateLimits: RateLimits{Address: Rate{60, time.Minute}},
		Routes: []Route{
			{Path: "/one", Methods: get, Public: true, Serve: func(r *Call) error { return r.NoContent() }},
			{Path: "/million", Methods: get, Public: true, Serve: func(r *Call) error {
				r.Spend(1_000_000)
				return r.NoContent()
			}},
			{Path: "/waiting", Methods: get, Public: true, Serve: func(r *Call) error {
				inFlight <- true
				<-cost
				r.Spend(1_000_000)
				return r.NoContent()
			}},
			{Path: "/estimate", Methods: get, Public: true, Serve: func(r *Call) error {
				r.Spend(1_000_000)
				inFlight <- true
				<-proceed
				r.Spend(1)
				return r.NoContent()
			}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Duration(0)
	s.limiters.address.now = func() time.Duration { return now }
	send := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer
	}
	wants := func(path string, status int, retry, limit string) {
		t.Helper()
		a := send(path)
		if a.Code != status || a.Header().Get("Retry-After") != retry || a.Header().Get("RateLimit") != `"objects-per-address";`+limit {
			t.Errorf("%s: %d, Retry-After %q, RateLimit %q", path, a.Code, a.Header().Get("Retry-After"), a.Header().Get("RateLimit"))
		}
	}
	empty := func() {
		t.Helper()
		now += time.Hour
		for i := range 59 {
			wants("/one", http.StatusNoContent, "", fmt.Sprintf("r=%d;t=%d", 59-i, i+1))
		}
	}

	empty()
	wants("/million", http.StatusNoContent, "", "r=0;t=119")
	wants("/one", http.StatusTooManyRequests, "60", "r=0;t=119")
	now += time.Minute - time.Second
	wants("/one", http.StatusTooManyRequests, "1", "r=0;t=60")
	now += time.Second
	wants("/one", http.StatusNoContent, "", "r=0;t=60")

	now += time.Hour // five at once
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { send("/waiting") })
		<-inFlight
	}
	for range 5 {
		cost <- true
	}
	all.Wait()
	wants("/one", http.StatusTooManyRequests, "60", "r=0;t=119")

	now += time.Hour // an estimate that is returned does not pay for what others cost meanwhile
	all.Go(func() { send("/waiting") })
	<-inFlight
	var estimate sync.WaitGroup
	estimate.Go(func() { send("/estimate") })
	<-inFlight
	cost <- true
	all.Wait()
	proceed <- true
	estimate.Wait()
	wants("/one", http.StatusTooManyRequests, "2", "r=0;t=61")
}
