package integration

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fillVenues stores venues whose name and code are a word each.
func (s *service) fillVenues(token string, n int) {
	s.tb.Helper()
	for from := 0; from < n; from += 1000 {
		var list []string
		for i := from; i < min(from+1000, n); i++ {
			list = append(list, fmt.Sprintf(`{"id": "v%[1]d", "name": "before", "code": "c%[1]d"}`, i))
		}
		s.must(token, http.MethodPost, "/api/v1/venues?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
	}
}

// changing runs clients that change venues until the function that it returns
// is called. Each gives the venues that are its own names and codes of two
// words, which change places.
func (s *service) changing(token string, clients, venues int) (end func()) {
	var done atomic.Bool
	var wait sync.WaitGroup
	for client := range clients {
		wait.Go(func() {
			for i := 0; !done.Load() && !s.tb.Failed(); i++ {
				id := (i*clients + client) % venues
				name, code := "north", "south"
				if i/venues%2 == 1 {
					name, code = code, name
				}
				a := s.ask(token, http.MethodPost, fmt.Sprintf("/api/v1/venues/v%d?context=main", id), fmt.Sprintf(`{"name": %q, "code": %q}`, name, code), nil)
				if a.status != http.StatusOK {
					s.tb.Errorf("beside a reload: %d %s", a.status, a.body)
				}
			}
		})
	}
	return func() {
		done.Store(true)
		wait.Wait()
	}
}

// checkWords compares what searches find with what the objects hold.
func (s *service) checkWords(token, property string, words ...string) {
	s.tb.Helper()
	for _, word := range words {
		have := s.count(token, "where="+property+"="+word)
		if found := s.count(token, "q="+word); found != have {
			s.tb.Errorf("%d objects have the %s %s, and %d are found by it", have, property, word, found)
		}
	}
}

func searching(property string) fs.FS { return venues(`, "search": ["` + property + `"]`) }

// TestReloadSearchesOther serves a schema that searches another property while
// the words of both change places: after each reload, every object is found by
// the words that it has, and by no others.
func TestReloadSearchesOther(t *testing.T) { eachStore(t, testReloadSearchesOther) }

func testReloadSearchesOther(t *testing.T, fresh newStore) {
	s := newService(t, fresh, searching("name"))
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	const objects = 400
	s.fillVenues(token, objects)
	for range 4 {
		for _, property := range []string{"code", "name"} {
			end := s.changing(token, 4, objects)
			err := s.swap(s.engine, searching(property))
			end()
			if err != nil {
				t.Fatal(err)
			}
			s.checkWords(token, property, "north", "south", "before")
		}
	}
}

// TestReloadFindsWhatIsOpened serves schemas in which a property ceases to be
// secret and is searched, while clients change it, and is secret again.
func TestReloadFindsWhatIsOpened(t *testing.T) { eachStore(t, testReloadFindsWhatIsOpened) }

func testReloadFindsWhatIsOpened(t *testing.T, fresh newStore) {
	code := func(search, secret string) fs.FS {
		return typeWith("venues", search, `"name": {"type": "string"}, "code": {"type": "string", "x-secret": `+secret+`}`)
	}
	sealed, opened := code(`, "search": ["name"]`, "true"), code(`, "search": ["code"]`, "false")
	s := newService(t, fresh, sealed)
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	const objects = 400
	s.fillVenues(token, objects)
	for range 3 {
		end := s.changing(token, 4, objects)
		err := s.swap(s.engine, opened)
		end()
		if err != nil {
			t.Fatal(err)
		}
		s.checkWords(token, "code", "north", "south")
		if err := s.swap(s.engine, sealed); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReloadBesideHotObjects serves schemas that search other properties besides
// while clients change a few objects again and again: that neither ends the
// reload, nor is anything lost that searches find meanwhile.
func TestReloadBesideHotObjects(t *testing.T) { eachStore(t, testReloadBesideHotObjects) }

func testReloadBesideHotObjects(t *testing.T, fresh newStore) {
	s := newService(t, fresh, searching("name"))
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	const objects, hot = 2000, 3
	s.fillVenues(token, objects)
	end := s.changing(token, 4, hot)
	defer end()
	for _, properties := range []string{`"name", "code"`, `"name"`, `"code", "labels", "name"`} {
		served := make(chan error, 1)
		go func() { served <- s.swap(s.engine, venues(`, "search": [`+properties+`]`)) }()
		for waiting := true; waiting; {
			select {
			case err := <-served:
				if err != nil {
					t.Fatal(err)
				}
				waiting = false
			default:
				if cold := s.count(token, "q=before"); cold < objects-hot {
					t.Fatalf("%d objects are found while they are indexed anew", cold)
				}
			}
		}
	}
}

// TestReloadBesideUpload serves a schema that searches another property while an
// upload is in the middle of its transaction: neither it nor the reload is in the
// way of other writes. SQLite has one writer, so that there, the uploads are
// small ones.
func TestReloadBesideUpload(t *testing.T) { eachStore(t, testReloadBesideUpload) }

func testReloadBesideUpload(t *testing.T, fresh newStore) {
	s := newService(t, fresh, searching("name"))
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	s.fillVenues(token, 1000)
	h := &held{Store: s.store, open: make(chan struct{}), release: make(chan struct{})}
	release := sync.OnceFunc(func() { close(h.release) })
	defer release()
	if _, one := s.store.Revision("venues"); one {
		release() // the writer is not kept
	}
	s.stopSearch() // which reads the engine's store
	s.engine.Store = h
	var wait sync.WaitGroup
	wait.Go(func() {
		var lines []string
		for i := range 2000 {
			lines = append(lines, fmt.Sprintf(`{"segmentId": "s%d", "name": "S", "dataSource": "ADOBE"}`, i))
		}
		a := s.ask(token, http.MethodPost, "/api/v1/segments/upload?context=main", "["+strings.Join(lines, ",")+"]", nil)
		if a.status != http.StatusOK {
			t.Errorf("the upload: %d %.300s", a.status, a.body)
		}
	})
	<-h.open
	served := make(chan error, 1)
	go func() { served <- s.swap(s.engine, searching("code")) }()
	for start, i := time.Now(), 0; i < 40 || time.Since(start) < time.Second; i++ {
		a := s.ask(token, http.MethodPost, fmt.Sprintf("/api/v1/venues/v%d?context=main", i%40), fmt.Sprintf(`{"code": "beside%d"}`, i%40), nil)
		if a.status != http.StatusOK { // one that waited for the upload would wait for ever
			t.Fatalf("beside an upload and a reload: %d %.300s", a.status, a.body)
		}
	}
	release()
	wait.Wait()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	s.checkWords(token, "code", "beside7", "c999")
}
