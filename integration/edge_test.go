package integration

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/engine/rest"
	"marquee/integration/service"
)

// TestRateLimits: a caller is limited by the objects that requests write and
// responses list, with all tokens together; other callers are not affected.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	s := service.StartNew(&service.Service{TB: t, URI: service.NewSQLite(t), Configure: func(o *marquee.Options) {
		o.RateLimits = rest.RateLimits{Caller: rest.Rate{Objects: 100, Window: 24 * time.Hour}}
	}})
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	left := 100
	ask := func(cost, status int, method, path, body string) {
		t.Helper()
		a := s.Ask(token, method, path, body, nil)
		left -= cost
		if want := fmt.Sprintf(`"objects-per-caller";r=%d;t=`, left); a.Status != status || !strings.HasPrefix(a.Header.Get("RateLimit"), want) {
			t.Errorf("%s %s: %d, RateLimit %q instead of %s\n%s", method, path, a.Status, a.Header.Get("RateLimit"), want, a.Body)
		}
		if policy := a.Header.Get("RateLimit-Policy"); policy != `"objects-per-caller";q=100;w=86400` {
			t.Errorf("RateLimit-Policy is %q", policy)
		}
		for _, wrong := range a.Promises(false) {
			t.Error(wrong)
		}
	}
	ask(1, http.StatusCreated, http.MethodPut, "/api/v1/tiers/a?context=main", `{"name": "a"}`)
	ask(1, http.StatusOK, http.MethodGet, "/api/v1/tiers/a?context=main", "")
	ask(3, http.StatusOK, http.MethodPost, "/api/v1/tiers?context=main", `[{"id": "b", "name": "b"}, {"id": "c", "name": "c"}, {"id": "d", "name": "d"}]`)
	ask(4, http.StatusOK, http.MethodGet, "/api/v1/tiers?context=main", "")
	ask(2, http.StatusOK, http.MethodGet, "/api/v1/tiers?context=main&pageSize=2", "")
	ask(4, http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=tiers", "")
	ask(2, http.StatusOK, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [{"type": "tiers", "object": {"id": "e", "name": "e"}}, {"type": "tiers", "object": {"id": "f", "name": "f"}}]}`)
	ask(1, http.StatusNotFound, http.MethodGet, "/api/v1/nothing?context=main", "")
	ask(2, http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/tiers?context=main", `[{"id": "g", "name": 1}, {"id": "h", "name": 2}]`)
	ask(5, http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/segments/upload?context=main", "["+strings.TrimSuffix(strings.Repeat(`{"name": "s"},`, 5), ",")+"]")
	if token, err = s.SignIn(service.Admin); err != nil { // which counts for nobody
		t.Fatal(err)
	}
	ask(1, http.StatusOK, http.MethodHead, "/api/v1/tiers/a?context=main", "")
	// The request that crosses the limit is served, and its cost is paid before the next.
	many := make([]string, left)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id": "m%d", "name": "m%d"}`, i, i)
	}
	a := s.Ask(token, http.MethodPost, "/api/v1/tiers?context=main", "["+strings.Join(many, ",")+"]", nil)
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a = s.Ask(token, http.MethodGet, "/api/v1/tiers/a?context=main", "", nil)
	if a.Status != http.StatusTooManyRequests || !strings.Contains(string(a.Body), `"code":"error.rate.exceeded"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 864 { // the time for one object, of which some has passed
		t.Errorf("Retry-After is %s", a.Header.Get("Retry-After"))
	}
	for _, wrong := range a.Promises(false) {
		t.Error(wrong)
	}
}

// TestRateLimitOfAddresses: an address is limited without a token, too, and by a
// failed sign-in.
func TestRateLimitOfAddresses(t *testing.T) {
	t.Parallel()
	s := service.StartNew(&service.Service{TB: t, URI: service.NewSQLite(t), Configure: func(o *marquee.Options) {
		o.TrustedProxies = []string{"127.0.0.0/8"}
		o.RateLimits = rest.RateLimits{Address: rest.Rate{Objects: 3, Window: 24 * time.Hour}}
	}})
	send := func(path, address string, form url.Values) *service.Answer {
		a, err := s.Send(http.MethodPost, path, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Forwarded-For": {address}}, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	from := func(address string) int {
		return send("/api/authenticate", address, url.Values{"grant_type": {"password"}, "username": {service.Admin}, "password": {"wrong"}}).Status
	}
	for _, want := range []int{http.StatusBadRequest, http.StatusBadRequest, http.StatusBadRequest, http.StatusTooManyRequests} {
		if got := from("203.0.113.1"); got != want {
			t.Errorf("%d instead of %d", got, want)
		}
	}
	if got := from("203.0.113.1, 203.0.113.2"); got != http.StatusBadRequest {
		t.Errorf("another address: %d", got)
	}
	if got := from("203.0.113.2, 203.0.113.1"); got != http.StatusTooManyRequests {
		t.Errorf("an address that names another: %d", got)
	}
	// The token endpoint and the revocation endpoint refuse in their own format.
	for _, path := range []string{"/api/authenticate", "/api/authenticate/revoke"} {
		a := send(path, "203.0.113.1", url.Values{"token": {"unknown"}})
		said, _ := a.JSON().(map[string]any)
		messages, _ := said["messages"].([]any)
		if a.Status != http.StatusTooManyRequests || said["error"] != "temporarily_unavailable" || said["error_description"] == "" || len(messages) != 1 ||
			a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Pragma") != "no-cache" {
			t.Errorf("%s: %d %v\n%s", path, a.Status, a.Header, a.Body)
		}
		if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 86400/3 {
			t.Errorf("%s: Retry-After is %q", path, a.Header.Get("Retry-After"))
		}
		if got := a.Header.Get("RateLimit"); !strings.HasPrefix(got, `"objects-per-address";r=0;t=`) {
			t.Errorf("%s: RateLimit is %q", path, got)
		}
	}
	if a := send("/api/v1/tiers", "203.0.113.1", nil); a.Status != http.StatusTooManyRequests || a.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("elsewhere: %d %s", a.Status, a.Header.Get("Content-Type"))
	}
}
