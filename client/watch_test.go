package client_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"marquee/client"
	"marquee/integration/marqueetest"
)

// Note is an object of a type of the tests.
type Note struct {
	ID   string `json:"id,omitempty"`
	Text string `json:"text,omitempty"`
}

var notes = fstest.MapFS{"notes.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Note", "type": "object",
	"x-resource": {"path": "notes", "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]}, "properties": {"text": {"type": "string"}}}`)}}

// A program that watches objects holds what there is, although connections break, and begins
// again when its rights change.
func TestWatch(t *testing.T) {
	s := marqueetest.Start(t, notes)
	server, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	broken := httputil.NewSingleHostReverseProxy(server)
	n := network(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/changes" && requests.Add(1)%3 == 0 {
			panic(http.ErrAbortHandler)
		}
		broken.ServeHTTP(w, r)
	}))
	all := client.Of[Note](n, "notes")
	write := client.Of[Note](s.API.Network(marqueetest.Network), "notes")
	save := func(id, text string) {
		if _, err := write.Save(t.Context(), id, Note{Text: text}); err != nil {
			t.Error(err)
		}
	}
	save("a", "1")
	save("b", "1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	held, resets := map[string]string{}, 0
	steps := []struct {
		want map[string]string
		then func()
	}{
		{map[string]string{"a": "1", "b": "1"}, func() { save("a", "2") }},
		{map[string]string{"a": "2", "b": "1"}, func() {
			if err := write.Remove(t.Context(), "b"); err != nil {
				t.Error(err)
			}
		}},
		{map[string]string{"a": "2"}, func() { save("c", "3") }},
		{map[string]string{"a": "2", "c": "3"}, func() {
			s.Do("POST", "/api/v1/roles/other?context=main", `{"name": "Other", "scope": "TEAM"}`, 201)
			s.Do("POST", "/api/v1/users/"+userID(t, s), `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "`+roleID(t, s)+`"}, {"role": "other"}]}]}}`, 200)
			save("d", "4")
		}},
		{map[string]string{"a": "2", "c": "3", "d": "4"}, nil},
	}
	for change, err := range all.Watch(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case change.Reset:
			resets++
			clear(held)
		case change.Object == nil:
			delete(held, change.ID)
		default:
			held[change.ID] = change.Object.Text
		}
		if maps.Equal(held, steps[0].want) {
			if steps[0].then == nil {
				break
			}
			steps[0].then()
			steps = steps[1:]
		}
	}
	if resets != 2 {
		t.Errorf("there were %d resets, and the rights have changed once", resets)
	}
	if requests.Load() < 3 {
		t.Error("no connection broke")
	}
}

func userID(t *testing.T, s *marqueetest.Server) string {
	return first(t, s, "/api/v1/users?context=main")
}

func roleID(t *testing.T, s *marqueetest.Server) string {
	return first(t, s, "/api/v1/roles?context=main&where=id!=other")
}

func first(t *testing.T, s *marqueetest.Server, path string) string {
	t.Helper()
	results, _ := s.Do("GET", path, "", 200)["results"].([]any)
	object, _ := results[0].(map[string]any)
	id, _ := object["id"].(string)
	return id
}

// A watch ends with the error of a refusal, and with its context.
func TestWatchEnds(t *testing.T) {
	s := marqueetest.Start(t, notes)
	n := s.API.Network(marqueetest.Network)
	last := func(ctx context.Context, path string) (err error) {
		for _, err = range client.Of[Note](n, path).Watch(ctx) {
			_ = err
		}
		return err
	}
	if err := last(t.Context(), "nothing"); !client.HasStatus(err, http.StatusNotFound) {
		t.Errorf("a type that does not exist: %v", err)
	}
	if err := last(t.Context(), "users"); !client.HasStatus(err, http.StatusBadRequest) {
		t.Errorf("users: %v", err)
	}
	if err := last(t.Context(), "assets/c"); err == nil {
		t.Error("objects beneath another are watched")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := last(ctx, "notes"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the context has ended: %v", err)
	}
}

// A watch begins again if the store is restored while it reads the list.
func TestWatchBesideRestore(t *testing.T) {
	s := marqueetest.Start(t, notes)
	write := client.Of[Note](s.API.Network(marqueetest.Network), "notes")
	var all []Note
	for i := range 501 { // more than a page
		all = append(all, Note{ID: fmt.Sprint(i)})
	}
	if _, err := write.SaveAll(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	restored := false
	forward := proxyTo(t, s)
	n := network(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if query := r.URL.Query(); query.Has("cursor") && !restored {
			query.Set("position", "of another store")
			r.URL.RawQuery, restored = query.Encode(), true
		}
		forward.ServeHTTP(w, r)
	}))
	held, resets := map[string]bool{}, 0
	for change, err := range client.Of[Note](n, "notes").Watch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if change.Reset {
			clear(held)
			resets++
			continue
		}
		if held[change.ID] = true; len(held) == len(all) {
			break
		}
	}
	if resets != 2 {
		t.Errorf("there were %d resets", resets)
	}
}
