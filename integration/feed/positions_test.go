package feed

import (
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"marquee"
	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/integration/service"
)

// TestPositionsRefused checks that a position which was cut, or changed by one bit, is refused, on
// pages and streams and in lists, in each place with the same message.
func TestPositionsRefused(t *testing.T) { service.EachStore(t, testPositionsRefused) }

func testPositionsRefused(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	position := positionOf(c, c.Token)
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	wrong := []string{position + "\n", position + "=", position + "A", position[:len(position)/2] + "\r\n" + position[len(position)/2:], " " + position}
	for i := range position {
		changed := []byte(position)
		changed[i] = digits[strings.IndexByte(digits, position[i])^1<<(i%6)]
		wrong = append(wrong, string(changed), position[:i])
	}
	last := digits[strings.IndexByte(digits, position[len(position)-1])^1]
	wrong = append(wrong, position[:len(position)-1]+string(last)) // perhaps a bit that encodes nothing
	places := map[string]struct {
		path   string
		header http.Header
	}{
		"page":   {"/api/v1/changes?context=main&type=wards&after=", nil},
		"list":   {"/api/v1/wards?context=main&position=", nil},
		"stream": {"/api/v1/changes?context=main&type=wards&after=", http.Header{"Accept": {"text/event-stream"}}},
	}
	for name, place := range places {
		said := ""
		for _, text := range wrong {
			if name == "list" && text == "" {
				continue // as a flag, it is refused in other words
			}
			a := c.Service.Ask(c.Token, http.MethodGet, place.path+url.QueryEscape(text), "", place.header)
			problem, _ := a.JSON().(map[string]any)
			messages := service.JSONText(problem["messages"])
			if said == "" {
				said = messages
			}
			if a.Status != http.StatusBadRequest || messages != said || !strings.Contains(messages, `"error.position.invalid"`) {
				t.Fatalf("%s: to %q, the answer is %d %.300s; to others, it is %s", name, text, a.Status, a.Body, said)
			}
		}
		if name != "stream" {
			if a := c.Service.Ask(c.Token, http.MethodGet, place.path+url.QueryEscape(position), "", nil); a.Status != http.StatusOK {
				t.Errorf("%s: to the position itself, the answer is %d %s", name, a.Status, a.Body)
			}
		}
	}
}

// TestPositionsHideWrites checks that the length of a position does not depend on whether others have
// written since the one before.
func TestPositionsHideWrites(t *testing.T) { service.EachStore(t, testPositionsHideWrites) }

func testPositionsHideWrites(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	other := strings.Repeat("o", document.MaxIDBytes)
	c.Send("POST", "/api/v1/networks/"+other, `{"name": "Other"}`, http.StatusCreated, "")
	position := positionOf(c, c.Token)
	for range 2 {
		for _, others := range []bool{false, true} {
			if others {
				c.Send("POST", "/api/v1/wards?context="+other, `{"text": "new"}`, http.StatusOK, "")
			}
			page := c.Service.Must(c.Token, http.MethodGet, "/api/v1/changes?context=main&type=wards&after="+url.QueryEscape(position), "", http.StatusOK)
			if next, _ := page["position"].(string); len(next) != len(position) {
				t.Errorf("others have written: %t; then the position has %d characters instead of %d", others, len(next), len(position))
			}
		}
	}
}

// TestReadsWithPositions checks that a read with a position sees every change before it also where
// a store reads from copies that lag behind.
func TestReadsWithPositions(t *testing.T) {
	lagging := &readStore{}
	s := service.StartNew(&service.Service{TB: t, URI: service.NewSQLite(t), Plain: &marquee.Application{}, Schemas: []fs.FS{service.TypeWith("notes", "", "")},
		Wrap: func(inner store.Store) store.Store { lagging.Store = inner; return lagging }})
	token := signIn(t, s)
	s.Must(token, http.MethodPut, "/api/v1/notes/a?context=main", `{}`, http.StatusCreated)
	behind := func(path string) int64 {
		before := lagging.behind.Load()
		s.Must(token, http.MethodGet, "/api/v1/"+path, "", http.StatusOK)
		return lagging.behind.Load() - before
	}
	for _, path := range []string{"notes?context=main", "notes/a?context=main"} {
		behind(path) // which finds out the rights of the caller
		if n, without := behind(path+"&position=true"), behind(path); n != without-1 {
			t.Errorf("%s: %d reads may lag behind, and without a position %d", path, n, without)
		}
	}
}

// readStore counts the reads that may lag behind.
type readStore struct {
	store.Store
	behind atomic.Int64
}

func (s *readStore) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	if !store.EffortOf(ctx).Latest {
		s.behind.Add(1)
	}
	return s.Store.Read(ctx, fn)
}

// TestEmptyTypes checks that a missing name of a type is refused by its place.
func TestEmptyTypes(t *testing.T) {
	c := hospital(t, service.NewSQLite)
	for path, detail := range map[string]string{
		"changes?type=":        "The parameter type must be types, separated by commas; the one in place 1 is empty.",
		"changes?type=wards,":  "The parameter type must be types, separated by commas; the one in place 2 is empty.",
		"changes?type=,wards":  "The parameter type must be types, separated by commas; the one in place 1 is empty.",
		"audit?type=":          "The parameter type must be a type.",
		"audit?type=&id=north": "The parameter type must be a type.",
	} {
		c.Send("GET", "/api/v1/"+path+"&context=main", "", http.StatusBadRequest, `{"detail": "`+detail+`"}`)
	}
}
