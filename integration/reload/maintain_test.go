package reload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/integration/service"
)

// searchKey is the key under which the words of venues are kept.
func searchKey(s *service.Service) string {
	t, _ := s.Engine.Registry().Type("venues")
	return t.SearchKey()
}

// withTerms counts the venues that have terms of a key.
func withTerms(s *service.Service, key string) (n int) {
	s.TB.Helper()
	ctx := context.Background()
	q := query.Query{Collection: "venues", Network: service.Network, Where: query.Term{Key: key, Prefix: true}, Limit: 10_000}
	err := s.Store.Read(ctx, func(snapshot store.Snapshot) error {
		n = 0
		return snapshot.Find(ctx, q, func(*store.Record) error {
			n++
			return nil
		})
	})
	if err != nil {
		s.TB.Fatal(err)
	}
	return n
}

// passes does twice what the service does from time to time, with a quarter of
// an hour in between.
func passes(t *testing.T, servers ...*service.Service) {
	t.Helper()
	for range 2 {
		for _, s := range servers {
			if err := s.Pass(); err != nil {
				t.Fatal(err)
			}
		}
		servers[0].Clock.Advance(15 * time.Minute)
	}
}

// TestReloadDropsWords serves a schema that searches another property. The
// words of the one before are dropped when no request can ask for them any more,
// and are there again when it is served again.
func TestReloadDropsWords(t *testing.T) { service.EachStore(t, testReloadDropsWords) }

func testReloadDropsWords(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, searching("name"))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const objects = 1200
	fillVenues(s, token, objects)
	names := searchKey(s)
	if err := s.Swap(s.Engine, searching("code")); err != nil {
		t.Fatal(err)
	}
	if err := s.Pass(); err != nil {
		t.Fatal(err)
	}
	if n := withTerms(s, names); n != objects {
		t.Errorf("right after the reload, %d objects of %d have the words before", n, objects)
	}
	passes(t, s)
	if n := withTerms(s, names); n != 0 {
		t.Errorf("after a while, %d objects have the words before", n)
	}
	token, err = s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/venues/v7?context=main", `{"name": "other"}`, http.StatusOK)
	if n := withTerms(s, names); n != 0 {
		t.Errorf("a write has brought words before back to %d objects", n)
	}
	if err := s.Swap(s.Engine, searching("name")); err != nil {
		t.Fatal(err)
	}
	if n := count(s, token, "q=before"); n != objects-1 {
		t.Errorf("%d objects are found", n)
	}
	checkWords(s, token, "name", "other")
}

// TestReloadRefusedLeavesNothing refuses a schema, as values are not unique, and
// kills an indexing in the middle: what that has left over binds no write, and
// is dropped in time.
func TestReloadRefusedLeavesNothing(t *testing.T) {
	service.EachStore(t, testReloadRefusedLeavesNothing)
}

func testReloadRefusedLeavesNothing(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, searching("name"))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	fillVenues(s, token, 300)
	s.Must(token, http.MethodPost, "/api/v1/venues/v299?context=main", `{"code": "c1"}`, http.StatusOK)
	claims := func() int {
		var owners map[store.Claim]string
		err := s.Store.Read(context.Background(), func(snapshot store.Snapshot) (err error) {
			var claims []store.Claim
			for i := range 300 {
				claims = append(claims, store.Claim{Collection: "venues", Network: service.Network, Property: "code", Value: fmt.Sprintf(`"c%d"`, i)})
			}
			owners, err = snapshot.Claims(context.Background(), claims)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(owners)
	}
	for _, end := range []func(){
		func() {},
		func() { // as if the process had been killed before it could take it back
			if err := s.Pass(); err != nil {
				t.Fatal(err)
			}
			noteFilling(s, `{"terms": [], "unique": ["code"]}`)
			s.Must(token, http.MethodPost, "/api/v1/venues/v2?context=main", `{"name": "claims"}`, http.StatusOK)
			if claims() != 1 {
				t.Errorf("%d values are claimed by a write", claims())
			}
		},
	} {
		var problems schema.Problems
		if err := s.Swap(s.Engine, venues(`, "search": ["name"], "unique": ["code"]`)); !errors.As(err, &problems) {
			t.Fatalf("not refused: %v", err)
		}
		end()
		if err := s.Pass(); err != nil {
			t.Fatal(err)
		}
		if n := claims(); n > 0 {
			t.Errorf("%d values are claimed", n)
		}
		s.Must(token, http.MethodPost, "/api/v1/venues/v3?context=main", `{"code": "c4"}`, http.StatusOK)
		s.Must(token, http.MethodPost, "/api/v1/venues/v3?context=main", `{"code": "c3"}`, http.StatusOK)
	}
}

// noteFilling notes that venues are being indexed, as a server does that is
// killed then.
func noteFilling(s *service.Service, keys string) {
	s.TB.Helper()
	noteVenues(s, func(noted map[string]any) { noted["filling"] = decodeJSON(s.TB, keys) })
}

// noteVenues changes what is noted of the objects of venues.
func noteVenues(s *service.Service, change func(noted map[string]any)) {
	s.TB.Helper()
	ctx := context.Background()
	err := s.Store.Write(ctx, func(tx store.Tx) error {
		var w store.Write
		err := tx.Get(ctx, "engine_types", []store.Key{{ID: "venues"}}, func(r *store.Record) error {
			noted := decodeJSON(s.TB, string(r.Document))
			change(noted)
			w = store.Write{Record: *r, Expected: r.Revision}
			w.Document = document.Append(nil, noted)
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Put(ctx, "engine_types", []store.Write{w})
	})
	if err != nil {
		s.TB.Fatal(err)
	}
}

func decodeJSON(tb testing.TB, text string) map[string]any {
	tb.Helper()
	object, err := document.DecodeObject([]byte(text), document.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return object
}

// TestServersSearchDifferently serves a schema on one server that searches
// another property, and not on the other: each finds by its own what either
// writes, however long that lasts.
func TestServersSearchDifferently(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 2, searching("name"))
	here, there := servers[0], servers[1]
	fillVenues(here, token, 300)
	names := searchKey(here)
	if err := here.Swap(here.Engine, searching("code")); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		for i, s := range servers {
			s.Must(token, http.MethodPost, fmt.Sprintf("/api/v1/venues/v%d?context=main", i), fmt.Sprintf(`{"name": "name%d", "code": "code%d"}`, round, round), http.StatusOK)
		}
		for q, want := range map[string]int{"before": 298, fmt.Sprintf("name%d", round): 2, "name": 2} {
			if n := count(there, token, "q="+q); n != want {
				t.Errorf("round %d: %s finds %d of %d", round, q, n, want)
			}
		}
		for q, want := range map[string]int{"c299": 1, fmt.Sprintf("code%d", round): 2, "before": 0} {
			if n := count(here, token, "q="+q); n != want {
				t.Errorf("round %d: %s finds %d of %d", round, q, n, want)
			}
		}
		passes(t, there, here)
		var err error
		if token, err = here.SignIn(service.Admin); err != nil {
			t.Fatal(err)
		}
	}
	if err := there.Swap(there.Engine, searching("code")); err != nil {
		t.Fatal(err)
	}
	passes(t, here, there)
	if n := withTerms(here, names); n != 0 {
		t.Errorf("%d objects have words that nobody searches", n)
	}
}

// TestServersAgreeOnUnique serves a schema with a unique property on one server: the
// other server maintains its values, too.
func TestServersAgreeOnUnique(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 2, venues(""))
	here, there := servers[0], servers[1]
	fillVenues(here, token, 100)
	if err := here.Swap(here.Engine, venues(moreVenues)); err != nil {
		t.Fatal(err)
	}
	there.Must(token, http.MethodPost, "/api/v1/venues/v1?context=main", `{"code": "c2"}`, http.StatusUnprocessableEntity)
	there.Must(token, http.MethodPost, "/api/v1/venues/v1?context=main", `{"code": "free", "labels": ["l"]}`, http.StatusOK)
	here.Must(token, http.MethodPost, "/api/v1/venues/v2?context=main", `{"code": "c1"}`, http.StatusOK)
	here.Must(token, http.MethodPost, "/api/v1/venues/v3?context=main", `{"code": "free"}`, http.StatusUnprocessableEntity)
	if n := count(here, token, "where=labels=l"); n != 1 {
		t.Errorf("%d of 1 by label", n)
	}
}

// TestServersOfNewerVersion lets a newer version of the program note what this
// one does not know: objects of that type can be read here, and not written.
func TestServersOfNewerVersion(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 1, searching("name"))
	s := servers[0]
	fillVenues(s, token, 10)
	noteVenues(s, func(noted map[string]any) { noted["format"] = int64(99) })
	a := s.Ask(token, http.MethodPost, "/api/v1/venues/v1?context=main", `{"name": "other"}`, nil)
	if messages := fmt.Sprint(a.JSON()); a.Status != http.StatusServiceUnavailable || !strings.Contains(messages, "error.schema.outdated") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if n := count(s, token, "q=before"); n != 10 {
		t.Errorf("%d objects are found", n)
	}
	if err := s.Pass(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Engine.Outdated()); got != "[venues]" {
		t.Errorf("outdated are %s", got)
	}
}

// TestReloadUpgrades opens a store in which an earlier version has noted by what
// venues are found, some of them wrongly: all are found, by what they hold.
func TestReloadUpgrades(t *testing.T) { service.EachStore(t, testReloadUpgrades) }

func testReloadUpgrades(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, searching("name"))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	fillVenues(s, token, 1200)
	if err := s.Store.Forget(context.Background(), "venues", []string{searchKey(s)}, nil); err != nil {
		t.Fatal(err)
	}
	if n := count(s, token, "q=before"); n != 0 {
		t.Fatalf("%d objects are found without words", n)
	}
	for _, earlier := range []string{
		`{"terms": [], "search": ["name"], "unique": []}`,
		`{"terms": [], "search": [], "unique": [], "filling": {"terms": [], "search": ["name"], "unique": []}}`,
	} {
		noteVenues(s, func(noted map[string]any) {
			clear(noted)
			maps.Copy(noted, decodeJSON(t, earlier))
		})
		s.Stop()
		s.Start()
		checkWords(s, token, "name", "before")
	}
}
