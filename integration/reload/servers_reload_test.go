package reload

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/service"
)

// writeVenues stores and changes new venues through a server, until the function
// that it returns is called, which returns their number.
func writeVenues(s *service.Service, token string) (end func() int) {
	var done atomic.Bool
	var n atomic.Int64
	var writers sync.WaitGroup
	for writer := range 2 {
		writers.Go(func() {
			for i := 0; !done.Load() && !s.TB.Failed(); i++ {
				for _, label := range []string{"old", "new"} {
					body := fmt.Sprintf(`[{"id": "w%[1]d-%[2]d", "name": "venue %[2]d", "code": "c%[1]d-%[2]d", "labels": [%[3]q]}]`, writer, i, label)
					if a := s.Ask(token, http.MethodPost, "/api/v1/venues?context=main", body, nil); a.Status != http.StatusOK {
						s.TB.Errorf("beside a reload of another server: %d %s", a.Status, a.Body)
					}
				}
				n.Add(1)
			}
		})
	}
	return func() int {
		done.Store(true)
		writers.Wait()
		return int(n.Load())
	}
}

// count returns the number of venues that a list finds.
func count(s *service.Service, token, parameters string) int {
	s.TB.Helper()
	list := s.Must(token, http.MethodGet, "/api/v1/venues?context=main&pageSize=1&"+parameters, "", http.StatusOK)
	n := 0
	fmt.Sscan(fmt.Sprint(list["totalCount"]), &n)
	return n
}

// TestServersReloadType serves a new type on one server while another, which
// does not know it yet, writes: nothing is in the way of either.
func TestServersReloadType(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	here, there := servers[0], servers[1]
	var done atomic.Bool
	var writers sync.WaitGroup
	var n atomic.Int64
	for writer := range 2 {
		writers.Go(func() {
			for i := 0; !done.Load(); i++ {
				a := there.Ask(token, http.MethodPost, "/api/v1/batch?context=main", fmt.Sprintf(`{"operations": [
					{"type": "orders", "object": {"id": "o%[1]d-%[2]d", "name": "O", "advertiser": "a%[1]d-%[2]d"}},
					{"type": "advertisers", "object": {"id": "a%[1]d-%[2]d", "name": "A"}}]}`, writer, i), nil)
				if a.Status != http.StatusOK {
					t.Errorf("beside a reload of another server: %d %s", a.Status, a.Body)
				}
				n.Add(1)
			}
		})
	}
	if err := here.Swap(here.Engine, venues(moreVenues)); err != nil {
		t.Error(err)
	}
	here.Must(token, http.MethodPost, "/api/v1/venues/v?context=main", `{"name": "V", "code": "v", "labels": ["l"]}`, http.StatusCreated)
	there.Must(token, http.MethodGet, "/api/v1/venues/v?context=main", "", http.StatusNotFound)
	if err := there.Swap(there.Engine, venues(moreVenues)); err != nil {
		t.Error(err)
	}
	done.Store(true)
	writers.Wait()
	there.Must(token, http.MethodPost, "/api/v1/venues/w?context=main", `{"code": "v"}`, http.StatusUnprocessableEntity)
	there.Must(token, http.MethodPost, "/api/v1/venues/w?context=main", `{"name": "W", "code": "w", "labels": ["l"]}`, http.StatusCreated)
	for _, s := range servers {
		if n := count(s, token, "where=labels=l"); n != 2 {
			t.Errorf("%d venues", n)
		}
		if list := s.Must(token, http.MethodGet, "/api/v1/orders?context=main&pageSize=1", "", http.StatusOK); fmt.Sprint(list["totalCount"]) != fmt.Sprint(n.Load()) {
			t.Errorf("%v orders instead of %d", list["totalCount"], n.Load())
		}
	}
}

// TestServersReloadIndexes serves a schema with more indexes, and then with
// none of them, on one server while another writes objects of that type.
func TestServersReloadIndexes(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 2, venues(""))
	here, there := servers[0], servers[1]
	end := writeVenues(there, token)
	for range 3 {
		for _, resource := range []string{`, "index": ["name", ["code", "name"]], "sort": ["name", "code"]`, ""} {
			if err := here.Swap(here.Engine, venues(resource)); err != nil {
				t.Error(err)
			}
			here.Must(token, http.MethodGet, "/api/v1/venues?context=main&where=name=venue%203", "", http.StatusOK)
		}
	}
	if err := here.Swap(here.Engine, venues(`, "index": ["name"], "sort": ["name"]`)); err != nil {
		t.Error(err)
	}
	n := end()
	for _, s := range servers {
		if found := count(s, token, ""); found != n {
			t.Errorf("%d venues instead of %d", found, n)
		}
		if found := count(s, token, "where=name!=nobody"); found != n {
			t.Errorf("%d venues by name instead of %d", found, n)
		}
	}
	list := here.Must(token, http.MethodGet, "/api/v1/venues?context=main&orderBy=name&pageSize=1000", "", http.StatusOK)
	if got := len(list["results"].([]any)); got != min(n, 1000) {
		t.Errorf("%d venues in the order of their names instead of %d", got, n)
	}
}

// moreVenues asks for all that objects must be made findable by.
const moreVenues = `, "search": ["name"], "index": ["labels"], "unique": ["code"]`

// TestServersReloadTogether serves a schema that finds objects by more on two
// servers, on one a little later: what the first one has filled in stays.
func TestServersReloadTogether(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 2, venues(""))
	here, there := servers[0], servers[1]
	const objects = 900
	body := ""
	for i := range objects {
		body += fmt.Sprintf(`, {"id": "b%d", "code": "c%d", "name": "venue", "labels": ["l"]}`, i, i)
	}
	here.Must(token, http.MethodPost, "/api/v1/venues?context=main", "["+body[2:]+"]", http.StatusOK)
	for round := range 8 {
		var later sync.WaitGroup
		later.Go(func() {
			time.Sleep(time.Duration(round*20) * time.Millisecond)
			if err := there.Swap(there.Engine, venues(moreVenues)); err != nil {
				t.Error(err)
			}
		})
		if err := here.Swap(here.Engine, venues(moreVenues)); err != nil {
			t.Error(err)
		}
		for range 40 {
			if n := count(here, token, "where=labels=l"); n != objects {
				t.Errorf("round %d: %d of %d by label", round, n, objects)
				break
			}
		}
		later.Wait()
		for _, s := range servers {
			if err := s.Swap(s.Engine, venues("")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// held is a store whose first transaction stays open until it is released.
type held struct {
	store.Store
	held          atomic.Bool
	open, release chan struct{}
}

func (h *held) Write(ctx context.Context, fn func(store.Tx) error) error {
	return h.Store.Write(ctx, func(tx store.Tx) error {
		err := fn(tx)
		if h.held.CompareAndSwap(false, true) {
			close(h.open)
			<-h.release
		}
		return err
	})
}

// TestServersReloadBesideTransaction serves a schema that finds objects by more
// while another server, which does not know it, is in the middle of a write
// that began before: that object is found, too, and its value is taken.
func TestServersReloadBesideTransaction(t *testing.T) {
	t.Parallel()
	servers, token := service.NewPlainServers(t, 2, venues(""))
	here, there := servers[0], servers[1]
	h := &held{Store: there.Store, open: make(chan struct{}), release: make(chan struct{})}
	there.StopSearch() // which reads the engine's store
	there.Engine.Store = h
	var both sync.WaitGroup
	both.Go(func() {
		a := there.Ask(token, http.MethodPost, "/api/v1/venues/a?context=main", `{"name": "A", "code": "x", "labels": ["l"]}`, nil)
		if a.Status != http.StatusCreated {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
	<-h.open
	served := make(chan struct{})
	both.Go(func() {
		defer close(served)
		if err := here.Swap(here.Engine, venues(moreVenues)); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-served:
	case <-time.After(2 * time.Second): // it waits for the write
	}
	close(h.release)
	both.Wait()
	if n := count(here, token, "where=labels=l"); n != 1 {
		t.Errorf("%d of 1 by label", n)
	}
	here.Must(token, http.MethodPost, "/api/v1/venues/b?context=main", `{"code": "x"}`, http.StatusUnprocessableEntity)
}
