package reload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/migration"
	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// fillVenues stores venues whose name and code are a word each.
func fillVenues(s *service.Service, token string, n int) {
	s.TB.Helper()
	for from := 0; from < n; from += 1000 {
		var list []string
		for i := from; i < min(from+1000, n); i++ {
			list = append(list, fmt.Sprintf(`{"id": "v%[1]d", "name": "before", "code": "c%[1]d"}`, i))
		}
		s.Must(token, http.MethodPost, "/api/v1/venues?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
	}
}

// changing runs clients that change venues until the function that it returns
// is called. Each gives the venues that are its own names and codes of two
// words, which change places.
func changing(s *service.Service, token string, clients, venues int) (end func()) {
	var done atomic.Bool
	var wait sync.WaitGroup
	for client := range clients {
		wait.Go(func() {
			for i := 0; !done.Load() && !s.TB.Failed(); i++ {
				id := (i*clients + client) % venues
				name, code := "north", "south"
				if i/venues%2 == 1 {
					name, code = code, name
				}
				a := s.Ask(token, http.MethodPost, fmt.Sprintf("/api/v1/venues/v%d?context=main", id), fmt.Sprintf(`{"name": %q, "code": %q}`, name, code), nil)
				if a.Status != http.StatusOK {
					s.TB.Errorf("beside a reload: %d %s", a.Status, a.Body)
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
func checkWords(s *service.Service, token, property string, words ...string) {
	s.TB.Helper()
	for _, word := range words {
		have := count(s, token, "where="+property+"="+word)
		if found := count(s, token, "q="+word); found != have {
			s.TB.Errorf("%d objects have the %s %s, and %d are found by it", have, property, word, found)
		}
	}
}

func searching(property string) fs.FS { return venues(`, "search": ["` + property + `"]`) }

// TestReloadSearchesOther serves a schema that searches another property while
// the words of both change places: after each reload, every object is found by
// the words that it has, and by no others.
func TestReloadSearchesOther(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testReloadSearchesOther)
}

func testReloadSearchesOther(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, searching("name"))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const objects = 400
	fillVenues(s, token, objects)
	for range 4 {
		for _, property := range []string{"code", "name"} {
			end := changing(s, token, 4, objects)
			err := s.Swap(s.Engine, searching(property))
			end()
			if err != nil {
				t.Fatal(err)
			}
			checkWords(s, token, property, "north", "south", "before")
		}
	}
}

// TestReloadFindsWhatIsOpened serves schemas in which a property ceases to be
// secret and is searched, while clients change it, and is secret again.
func TestReloadFindsWhatIsOpened(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testReloadFindsWhatIsOpened)
}

func testReloadFindsWhatIsOpened(t *testing.T, fresh service.NewStore) {
	code := func(search, secret string) fs.FS {
		return service.TypeWith("venues", search, `"name": {"type": "string"}, "code": {"type": "string", "x-secret": `+secret+`}`)
	}
	sealed, opened := code(`, "search": ["name"]`, "true"), code(`, "search": ["code"]`, "false")
	s := service.NewPlain(t, fresh, sealed)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const objects = 400
	fillVenues(s, token, objects)
	for range 3 {
		end := changing(s, token, 4, objects)
		err := s.Swap(s.Engine, opened)
		end()
		if err != nil {
			t.Fatal(err)
		}
		checkWords(s, token, "code", "north", "south")
		if err := s.Swap(s.Engine, sealed); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReloadBesideHotObjects serves schemas that search other properties besides
// while clients change a few objects again and again: that neither ends the
// reload, nor is anything lost that searches find meanwhile.
func TestReloadBesideHotObjects(t *testing.T) { service.EachStore(t, testReloadBesideHotObjects) }

func testReloadBesideHotObjects(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, searching("name"))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const objects, hot = 2000, 3
	fillVenues(s, token, objects)
	end := changing(s, token, 4, hot)
	defer end()
	for _, properties := range []string{`"name", "code"`, `"name"`, `"code", "labels", "name"`} {
		served := make(chan error, 1)
		go func() { served <- s.Swap(s.Engine, venues(`, "search": [`+properties+`]`)) }()
		for waiting := true; waiting; {
			select {
			case err := <-served:
				if err != nil {
					t.Fatal(err)
				}
				waiting = false
			default:
				if cold := count(s, token, "q=before"); cold < objects-hot {
					t.Fatalf("%d objects are found while they are indexed anew", cold)
				}
			}
		}
	}
}

// rivalry is a store on which another write of v2 meets each transaction that puts it beside
// others.
type rivalry struct {
	store.Store
	write func()
	met   int
}

func (r *rivalry) Write(ctx context.Context, fn func(store.Tx) error) error {
	return r.Store.Write(ctx, func(tx store.Tx) error { return fn(rivalryTx{tx, r}) })
}

type rivalryTx struct {
	store.Tx
	r *rivalry
}

func (tx rivalryTx) Put(ctx context.Context, collection string, writes []store.Write) error {
	if len(writes) > 1 && slices.ContainsFunc(writes, func(w store.Write) bool { return w.ID == "v2" }) {
		if tx.r.met++; tx.r.met > 50 {
			return errors.New("the walk takes no fewer objects at once")
		}
		tx.r.write()
	}
	return tx.Tx.Put(ctx, collection, writes)
}

// TestPruneBesideHotObject removes values while a client writes one of their objects again and
// again, which keeps them: on MongoDB, they are removed nevertheless.
func TestPruneBesideHotObject(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 1, venues(""))
	s := servers[0]
	var list []string
	for i := range 60 {
		list = append(list, fmt.Sprintf(`{"id": "v%d", "labels": ["l"]}`, i))
	}
	s.Must(token, http.MethodPost, "/api/v1/venues?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
	if err := s.Swap(s.Engine, service.TypeWith("venues", "", `"name": {"type": "string"}`)); err != nil {
		t.Fatal(err)
	}
	s.StopSearch() // which reads the engine's store
	r := &rivalry{Store: s.Engine.Store}
	r.write = func() {
		s.Must(token, http.MethodPost, "/api/v1/venues/v2?context=main", fmt.Sprintf(`{"name": "%d"}`, r.met), http.StatusOK)
	}
	s.Engine.Store = r
	if err := s.Engine.Prune(t.Context(), "venues", "/labels"); err != nil {
		t.Fatal(err)
	}
	left, err := migration.Undeclared(t.Context(), s.Engine.Store, mustType(t, s.Engine.Registry(), "venues"), "")
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if v := s.Must(token, http.MethodGet, "/api/v1/venues/v2?context=main", "", http.StatusOK); r.met == 0 || v["name"] != fmt.Sprint(r.met) {
		t.Errorf("after %d writes: %v", r.met, v)
	}
}

// TestReloadBesideUpload serves a schema that searches another property while an
// upload is in the middle of its transaction: neither it nor the reload is in the
// way of other writes. SQLite has one writer, so that there, the uploads are
// small ones.
func TestReloadBesideUpload(t *testing.T) { service.EachStore(t, testReloadBesideUpload) }

func testReloadBesideUpload(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh, searching("name"))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	fillVenues(s, token, 1000)
	h := &held{Store: s.Store, open: make(chan struct{}), release: make(chan struct{})}
	release := sync.OnceFunc(func() { close(h.release) })
	defer release()
	if s.Store.Serial() {
		release() // the writer is not kept
	}
	s.StopSearch() // which reads the engine's store
	s.Engine.Store = h
	var wait sync.WaitGroup
	wait.Go(func() {
		var lines []string
		for i := range 2000 {
			lines = append(lines, fmt.Sprintf(`{"segmentId": "s%d", "name": "S", "dataSource": "ADOBE"}`, i))
		}
		a := s.Ask(token, http.MethodPost, "/api/v1/segments/upload?context=main", "["+strings.Join(lines, ",")+"]", nil)
		if a.Status != http.StatusOK {
			t.Errorf("the upload: %d %.300s", a.Status, a.Body)
		}
	})
	<-h.open
	served := make(chan error, 1)
	go func() { served <- s.Swap(s.Engine, searching("code")) }()
	for start, i := time.Now(), 0; i < 40 || time.Since(start) < time.Second; i++ {
		a := s.Ask(token, http.MethodPost, fmt.Sprintf("/api/v1/venues/v%d?context=main", i%40), fmt.Sprintf(`{"code": "beside%d"}`, i%40), nil)
		if a.Status != http.StatusOK { // one that waited for the upload would wait for ever
			t.Fatalf("beside an upload and a reload: %d %.300s", a.Status, a.Body)
		}
	}
	release()
	wait.Wait()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	checkWords(s, token, "code", "beside7", "c999")
}
