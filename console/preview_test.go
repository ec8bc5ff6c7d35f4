package console_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/console"
	"marquee/integration/marqueetest"
)

const leafletSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"name": {"type": "string"}, "html": {"type": "string"}}, "required": ["name"], "x-resource": {"path": "leaflets"}}`

// leaflets starts a server with a type whose objects can be previewed.
func leaflets(t *testing.T) *marqueetest.Server {
	t.Helper()
	application := marquee.Application{Console: console.Module{Files: fstest.MapFS{"module.js": {Data: []byte("export const panels = []")}}, Previews: map[string]console.Preview{"leaflets": {Property: "html"}}}}
	s := marqueetest.StartWith(t, marquee.Options{Application: application, Schemas: fstest.MapFS{"leaflets.json": {Data: []byte(leafletSchema)}}})
	s.Do(http.MethodPut, "/api/v1/roles/loader?context=main", `{"name": "Loader", "scope": "NETWORK", "permissions": []}`, http.StatusCreated)
	s.Do(http.MethodPut, "/api/v1/leaflets/a?context=main", `{"name": "A", "html": "<p>Hello</p>"}`, http.StatusCreated)
	return s
}

const ticketFor = "/api/console/previews/leaflets/a?context=main"

// answer is that to a request for a ticket, which has a path, or for what a ticket shows.
type answer struct {
	status      int
	later, path string
}

// ask sends a request with a token, or as a frame does without one.
func ask(t *testing.T, url, token string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	var body struct{ Path string }
	if token != "" {
		if err := json.NewDecoder(got.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
	}
	return answer{got.StatusCode, got.Header.Get("Retry-After"), body.Path}
}

// expect asks for what a ticket shows.
func expect(t *testing.T, url string, status int) {
	t.Helper()
	if got := ask(t, url, ""); got.status != status {
		t.Errorf("a ticket is answered with %d, not %d", got.status, status)
	}
}

// TestPreviewTwice: of requests with the same ticket at once, one is answered.
func TestPreviewTwice(t *testing.T) {
	s := leaflets(t)
	for range 10 {
		path := s.Do(http.MethodGet, ticketFor, "", http.StatusOK)["path"].(string)
		var asking sync.WaitGroup
		statuses := make([]int, 8)
		for i := range statuses {
			asking.Go(func() { statuses[i] = ask(t, s.URL+path, "").status })
		}
		asking.Wait()
		shown := 0
		for _, status := range statuses {
			if status == http.StatusOK {
				shown++
			} else if status != http.StatusNotFound {
				t.Errorf("a ticket is answered with %d", status)
			}
		}
		if shown != 1 {
			t.Errorf("a ticket shows %d pages", shown)
		}
	}
}

// TestPreviewForms: a ticket has one form. Bits at the end of its parts that mean nothing cannot
// be set.
func TestPreviewForms(t *testing.T) {
	s := leaflets(t)
	path := s.Do(http.MethodGet, ticketFor, "", http.StatusOK)["path"].(string)
	other, last := "", path[len(path)-1]
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		signature := path[strings.LastIndexByte(path, '.')+1:]
		was, _ := base64.RawURLEncoding.DecodeString(signature)
		is, _ := base64.RawURLEncoding.DecodeString(signature[:len(signature)-1] + string(c))
		if byte(c) != last && string(was) == string(is) {
			other = path[:len(path)-1] + string(c)
		}
	}
	if other == "" {
		t.Fatal("there is no other form")
	}
	expect(t, s.URL+other, http.StatusNotFound)
	expect(t, s.URL+path, http.StatusOK)
}

// TestPreviewWithdrawn: a ticket shows nothing once the API token or the session that it was given to
// has ended.
func TestPreviewWithdrawn(t *testing.T) {
	s := leaflets(t)
	token := s.Do(http.MethodPut, "/api/v1/tokens/loader?context=main", `{"name": "Loader", "role": "loader"}`, http.StatusCreated)["token"].(string)
	given := func(token string, end func()) {
		t.Helper()
		before, after := ask(t, s.URL+ticketFor, token).path, ask(t, s.URL+ticketFor, token).path
		expect(t, s.URL+before, http.StatusOK)
		end()
		expect(t, s.URL+after, http.StatusNotFound)
	}
	given(token, func() {
		s.Do(http.MethodPatch, "/api/v1/tokens/loader?context=main", `{"objectState": "INACTIVE"}`, http.StatusOK)
	})
	s.Do(http.MethodPut, "/api/v1/users/ida", `{"username": "ida", "password": "`+marqueetest.Password+` too", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "loader"}]}]}}`, http.StatusCreated)
	session := s.Do(http.MethodPost, "/api/authenticate", `{"grant_type": "password", "username": "ida", "password": "`+marqueetest.Password+` too"}`, http.StatusOK)["access_token"].(string)
	given(session, func() { s.Do(http.MethodPost, "/api/v1/users/ida/logout", "", http.StatusNoContent) })
}

// TestPreviewTickets: a user has as many tickets as one, with API tokens or without, and a server that
// has too many says when there will be room.
func TestPreviewTickets(t *testing.T) {
	s := leaflets(t)
	var paths []string
	var token string
	for i := range 20 {
		token = s.Do(http.MethodPut, fmt.Sprintf("/api/v1/tokens/t%d?context=main", i), `{"name": "T", "role": "loader"}`, http.StatusCreated)["token"].(string)
		paths = append(paths, ask(t, s.URL+ticketFor, token).path)
	}
	if got := ask(t, s.URL+ticketFor, token); got.status != http.StatusTooManyRequests || got.later != "20" {
		t.Errorf("the 21st ticket is answered with %v", got)
	}
	t.Cleanup(console.SetMaxAllTickets(2))
	expect(t, s.URL+paths[0], http.StatusOK)
	expect(t, s.URL+paths[1], http.StatusOK)
	if got := ask(t, s.URL+paths[2], ""); got.status != http.StatusServiceUnavailable || got.later != "20" {
		t.Errorf("a ticket of a server that remembers too many is answered with %v", got)
	}
	expect(t, s.URL+paths[0], http.StatusNotFound)
}
