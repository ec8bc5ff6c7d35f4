package rest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine"
	"marquee/engine/message"
)

// oneToken accepts the token "secret".
type oneToken struct{ Authenticator }

func (oneToken) Caller(_ context.Context, token string) (*engine.Caller, error) {
	if token != "secret" {
		return nil, message.TokenInvalid.Error(nil)
	}
	return &engine.Caller{User: "u"}, nil
}

// echo answers with the parameters ward and rest of the path.
func echo(r *Call) error {
	r.Answer(http.StatusOK, []byte(r.PathValue("ward")+"|"+r.PathValue("rest")))
	return nil
}

// A route is served in the same way inside and outside the API.
func TestRoutes(t *testing.T) {
	s, err := New(Config{Auth: oneToken{}, Routes: []Route{
		{Path: "/open/{ward}", Methods: readMethods, Public: true, Serve: echo},
		{Path: "/files/{ward}/{rest...}", Methods: readMethods, Public: true, Serve: echo},
		{Path: "/closed", Methods: writeMethods, Serve: echo},
		{Path: "/api/v1/open/beds", Methods: readMethods, Public: true, Serve: echo},
		{Path: "/api/v1/wards/{ward}/beds", Methods: readMethods, Serve: echo},
		{Path: "/api/v1/wards/{ward}/notes/{rest...}", Methods: readMethods, Serve: echo},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path, token string
		status              int
		want                string
	}{
		{"GET", "/healthz", "", 200, `"status":"ok"`},
		{"GET", "/readyz", "", 200, `"status":"ready"`},
		{"GET", "/open/a", "", 200, "a|"},
		{"GET", "/open/a/", "", 200, "a|"},
		{"GET", "/open/a?b=%zz", "", 200, "a|"},
		{"GET", "/open/a/b", "", 404, "error.path.unknown"},
		{"GET", "/files/a/b/c.png", "", 200, "a|b/c.png"},
		{"POST", "/files/a/b", "", 405, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/files/a/b", "", 204, "GET, HEAD, OPTIONS"},
		{"POST", "/closed", "", 401, "error.token.missing"},
		{"POST", "/closed", "secret", 200, "|"},
		{"POST", "/closed?auth_token=secret", "", 200, "|"},
		{"GET", "/closed", "", 401, "error.token.missing"},
		{"GET", "/closed", "secret", 405, "POST, PUT, OPTIONS"},
		{"GET", "/api/v1/open/beds", "", 200, "|"},
		{"GET", "/api/v1/wards/a/beds", "", 401, "error.token.missing"},
		{"GET", "/api/v1/wards/a/beds", "wrong", 401, "error.token.invalid"},
		{"GET", "/api/v1/wards/a%2Fb/beds/", "secret", 200, "a/b|"},
		{"GET", "/api/v1/wards/a/notes/b/c", "secret", 200, "a|b/c"},
		{"PUT", "/api/v1/wards/a/beds", "secret", 405, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/api/v1/wards/a/beds", "", 204, "GET, HEAD, OPTIONS"},
	} {
		request := httptest.NewRequest(c.method, c.path, nil)
		if c.token != "" {
			request.Header.Set("Authorization", "Bearer "+c.token)
		}
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		if got := answer.Header().Get("Allow") + answer.Body.String(); answer.Code != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, answer.Code, got)
		}
	}
	if used := s.MemoryUsed(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}

// Reads hold a share of the memory budget unless their route is unlimited, and every call
// has the deadline of its route.
func TestRoutesAreBounded(t *testing.T) {
	var held int64
	var left time.Duration
	var s *Server
	look := func(r *Call) error {
		deadline, _ := r.Context().Deadline()
		held, left = s.work.Used(), time.Until(deadline)
		r.Answer(http.StatusOK, nil)
		return nil
	}
	s, err := New(Config{Auth: oneToken{}, Deadline: time.Minute, Routes: []Route{
		{Path: "/open", Methods: readMethods, Public: true, Serve: look},
		{Path: "/unlimited", Methods: readMethods, Public: true, Unlimited: true, Serve: look},
		{Path: "/api/v1/read", Methods: readMethods, Serve: look},
		{Path: "/api/v1/write", Methods: writeMethods, Serve: look, Deadline: time.Hour},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path string
		held         int64
		deadline     time.Duration
	}{
		{"GET", "/open", publicCost, time.Minute}, {"GET", "/unlimited", 0, time.Minute}, {"GET", "/api/v1/read", pageCost, time.Minute}, {"PUT", "/api/v1/write", 0, time.Hour},
	} {
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.path+"?auth_token=secret", nil))
		if held != c.held || left > c.deadline || left < c.deadline-30*time.Second {
			t.Errorf("%s %s: holds %d bytes, and has %s", c.method, c.path, held, left)
		}
	}
}

// However many public requests of an address wait for memory, another address gets some.
func TestPublicReadsTakeTurns(t *testing.T) {
	entered, proceed := make(chan bool), make(chan bool)
	s, err := New(Config{Auth: oneToken{}, Memory: 64 << 20, Deadline: time.Minute, Routes: []Route{{Path: "/open", Methods: readMethods, Public: true, Serve: func(r *Call) error {
		if r.ClientIP() == "192.0.2.1" {
			entered <- true
			<-proceed
		}
		r.Answer(http.StatusOK, nil)
		return nil
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(address string) int {
		request, answer := httptest.NewRequest("GET", "/open", nil), httptest.NewRecorder()
		request.RemoteAddr = address + ":1000"
		s.ServeHTTP(answer, request)
		return answer.Code
	}
	var wait sync.WaitGroup
	for range 40 {
		wait.Go(func() { ask("192.0.2.1") })
	}
	const atOnce = 45 / 4 // an eighth is left to small shares, and another one to other addresses
	for range atOnce {
		<-entered
	}
	if status := ask("192.0.2.2"); status != http.StatusOK {
		t.Errorf("the other address gets %d", status)
	}
	go func() {
		for range 40 - atOnce {
			<-entered
		}
	}()
	close(proceed)
	wait.Wait()
}

// Content holds no share while it is sent, as a client can take long to receive it.
func TestContentHoldsNoShare(t *testing.T) {
	held := int64(-1)
	var s *Server
	s, err := New(Config{Auth: oneToken{}, Routes: []Route{{Path: "/open", Methods: readMethods, Public: true, Serve: func(r *Call) error {
		if s.work.Used() != publicCost {
			t.Errorf("%d bytes are held before", s.work.Used())
		}
		return r.Content(Content{Type: "text/plain", ETag: `"a"`, Size: 1, Reader: reading{strings.NewReader("a"), func() { held = s.work.Used() }}})
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/open", nil))
	if held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// reading calls a function when it is read.
type reading struct {
	io.ReadSeeker
	read func()
}

func (r reading) Read(p []byte) (int, error) {
	r.read()
	return r.ReadSeeker.Read(p)
}

// A route with a content type takes no request but writes with that body.
func TestRoutesOfContentTypes(t *testing.T) {
	var s routes
	s.add(&Route{Path: "/api/v1/assets/{id}", Methods: writeMethods, ContentType: "multipart/form-data"})
	for _, c := range []struct {
		path, method, contentType string
		want                      bool
	}{
		{"/api/v1/assets/{id}", "PUT", "multipart/form-data; boundary=b", true},
		{"/api/v1/assets/{id}", "POST", "Multipart/Form-Data", true},
		{"/api/v1/assets/{id}", "GET", "multipart/form-data", false},
		{"/api/v1/assets/{id}", "PUT", "application/json", false},
		{"/api/v1/assets/{id}", "PUT", "", false},
		{"/api/v1/orders/{id}", "PUT", "multipart/form-data", false},
	} {
		if got := s.form(c.path, c.method, c.contentType); (got != nil) != c.want {
			t.Errorf("%s %s %s: %v", c.method, c.path, c.contentType, got)
		}
	}
}

func TestRoutesThatCannotBeServed(t *testing.T) {
	for name, list := range map[string][]Route{
		"no slash":       {{Path: "a", Methods: readMethods, Serve: echo}},
		"no methods":     {{Path: "/a", Serve: echo}},
		"no Serve":       {{Path: "/a", Methods: readMethods}},
		"twice":          {{Path: "/a", Methods: readMethods, Serve: echo}, {Path: "/a", Methods: writeMethods, Serve: echo}},
		"the server's":   {{Path: "/healthz", Methods: readMethods, Serve: echo}},
		"overlapping":    {{Path: "/a/{b}", Methods: readMethods, Serve: echo}, {Path: "/a/{c...}", Methods: readMethods, Serve: echo}},
		"a body outside": {{Path: "/a/{id}", Methods: writeMethods, ContentType: "text/csv", Serve: echo}},
	} {
		if _, err := New(Config{Routes: list}); err == nil || !strings.Contains(err.Error(), "route") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The deadline of a route extends that of the server, and never shortens it.
func TestDeadlineOfRoutes(t *testing.T) {
	for deadline, want := range map[time.Duration]time.Duration{time.Minute: 2 * time.Minute, time.Hour: time.Hour} {
		var left time.Duration
		s, err := New(Config{Log: slog.New(slog.DiscardHandler), Deadline: deadline, Routes: []Route{{
			Path: "/long", Methods: []string{http.MethodGet}, Public: true, Deadline: 2 * time.Minute, Serve: func(r *Call) error {
				at, _ := r.Context().Deadline()
				left = time.Until(at)
				return nil
			}}}})
		if err != nil {
			t.Fatal(err)
		}
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/long", nil))
		if left > want || left < want-time.Minute/2 {
			t.Errorf("with a deadline of %v, the route has %v", deadline, left)
		}
	}
}
