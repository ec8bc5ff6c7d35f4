package integration

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/integration/service"
)

// TestSlowReaders asks for large pages from more clients than the store has
// readers, none of whom takes the answer: others are answered all the same.
func TestSlowReaders(t *testing.T) { service.EachStore(t, testSlowReaders) }

func testSlowReaders(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh, scrolls)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	fillScrolls(s, token)
	for range 20 {
		conn, err := net.Dial("tcp", s.Server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /api/v1/scrolls?context=main HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", token)
		if _, err := conn.Read(make([]byte, 1)); err != nil { // the answer has begun
			t.Fatal(err)
		}
	}
	s.Must(token, http.MethodGet, "/api/v1/scrolls/n07?context=main&fields=id", "", http.StatusOK)
	s.Must(token, http.MethodPost, "/api/v1/scrolls/more?context=main", `{"text": "More"}`, http.StatusCreated)
}

// scrolls is a folder with a type of large objects.
var scrolls = fstest.MapFS{"scrolls.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Scroll",
	"x-resource": {"path": "scrolls"}, "type": "object", "properties": {"text": {"type": "string"}}}`)}}

const scrollCount = 30

// fillScrolls stores objects of more than half a MiB each.
func fillScrolls(s *service.Service, token string) {
	s.TB.Helper()
	body := fmt.Sprintf(`{"text": %q}`, strings.Repeat("long text ", 60_000))
	for i := range scrollCount {
		s.Must(token, http.MethodPut, fmt.Sprintf("/api/v1/scrolls/n%02d?context=main", i), body, http.StatusCreated)
	}
}
