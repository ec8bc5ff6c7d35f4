package rest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const allowedOrigin = "https://app.example.com"

func corsServer(t *testing.T, c CORS) *Server {
	t.Helper()
	s, err := New(Config{Log: slog.New(slog.DiscardHandler), CORS: c, Routes: []Route{{Path: "/hello", Methods: []string{http.MethodGet}, Public: true, Serve: func(r *Call) error {
		r.Answer(http.StatusOK, []byte("{}"))
		return nil
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func corsRequest(s *Server, method, path string, header http.Header) http.Header {
	request := httptest.NewRequest(method, path, nil)
	request.Header = header
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request)
	return answer.Header()
}

func TestCORSIsOffByDefault(t *testing.T) {
	s := corsServer(t, CORS{})
	for _, method := range []string{http.MethodGet, http.MethodOptions} {
		header := corsRequest(s, method, "/hello", http.Header{"Origin": {allowedOrigin}, "Access-Control-Request-Method": {"GET"}})
		for name := range header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s has %s", method, name)
			}
		}
	}
}

func TestCORSIsExact(t *testing.T) {
	s := corsServer(t, CORS{Origins: []string{allowedOrigin, "http://localhost:3000"}})
	for origin, allowed := range map[string]bool{
		allowedOrigin: true, "http://localhost:3000": true,
		"https://app.example.com.evil.example": false, "https://evil-app.example.com": false, "http://app.example.com": false,
		"https://app.example.com:8443": false, "https://APP.example.com": false, "null": false, "": false, "*": false, "http://localhost": false,
	} {
		header := corsRequest(s, http.MethodGet, "/hello", http.Header{"Origin": {origin}})
		if got := header.Get("Access-Control-Allow-Origin"); (got == origin && got != "") != allowed || !allowed && got != "" {
			t.Errorf("%q: Access-Control-Allow-Origin is %q", origin, got)
		}
		if !strings.Contains(strings.Join(header.Values("Vary"), ","), "Origin") {
			t.Errorf("%q: Vary is %q", origin, header.Values("Vary"))
		}
		if header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%q: credentials are allowed", origin)
		}
	}
	if header := corsRequest(s, http.MethodGet, "/hello", http.Header{"Origin": {allowedOrigin, "https://evil.example"}}); header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("one of two origins is allowed")
	}
	exposed := corsRequest(s, http.MethodGet, "/hello", http.Header{"Origin": {allowedOrigin}}).Get("Access-Control-Expose-Headers")
	for _, name := range []string{"Etag", "Idempotency-Replayed", "Location", "Warning", "Ratelimit", "Ratelimit-Policy", "Retry-After", "X-Request-Id"} {
		if !strings.Contains(exposed, name) {
			t.Errorf("%s is not exposed: %s", name, exposed)
		}
	}
}

// Preflight requests have no token, and are answered for every path alike.
func TestCORSPreflight(t *testing.T) {
	s := corsServer(t, CORS{Origins: []string{allowedOrigin}, Credentials: true})
	ask := http.Header{"Origin": {allowedOrigin}, "Access-Control-Request-Method": {"PUT"}, "Access-Control-Request-Headers": {"authorization,content-type,if-match"}}
	for _, path := range []string{"/hello", "/api/v1/orders", "/api/v1/orders/a", "/api/authenticate", "/nothing"} {
		header := corsRequest(s, http.MethodOptions, path, ask.Clone())
		if header.Get("Access-Control-Allow-Origin") != allowedOrigin || header.Get("Access-Control-Allow-Methods") != "PUT" ||
			header.Get("Access-Control-Allow-Headers") == "" || header.Get("Access-Control-Allow-Credentials") != "true" || header.Get("Access-Control-Max-Age") != "600" {
			t.Errorf("%s: %v", path, header)
		}
		wantSecure(t, header, false)
	}
	for name, value := range map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "TRACE"} {
		other := ask.Clone()
		other.Set(name, value)
		if header := corsRequest(s, http.MethodOptions, "/hello", other); header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s is allowed: %v", name, value, header)
		}
	}
	for asked, allowed := range map[string]string{"authorization,x-b3-traceid,x-forwarded-for": "authorization", "x-unknown, If-Match,authorization": "authorization,if-match", "x-unknown": "", "idempotency-key,traceparent": "idempotency-key,traceparent"} {
		other := ask.Clone()
		other.Set("Access-Control-Request-Headers", asked)
		header := corsRequest(s, http.MethodOptions, "/hello", other)
		if header.Get("Access-Control-Allow-Origin") != allowedOrigin || header.Get("Access-Control-Allow-Headers") != allowed {
			t.Errorf("of %s, %s is to be allowed: %v", asked, allowed, header)
		}
	}
}

func TestCORSOrigins(t *testing.T) {
	for _, origin := range []string{"*", "null", "", "app.example.com", "https://*.example.com", "https://app.example.com/", "https://App.example.com",
		"https://app.example.com:443", "http://app.example.com:80", "https://app.example.com:", "https://user@app.example.com", "ftp://app.example.com", "https://bücher.example", "https://a.example,https://b.example"} {
		if (CORS{Origins: []string{origin}}).Check() == nil {
			t.Errorf("%q is accepted", origin)
		}
	}
	if err := (CORS{Origins: []string{"http://[::1]:8080", "https://xn--bcher-kva.example"}}).Check(); err != nil {
		t.Error(err)
	}
}
