package concurrency

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"marquee/engine/store"
	"marquee/integration/service"
)

// TestWritersTogether lets clients send valid and invalid writes at once, so that
// their calls can share a commit: each gets the answer that it would get alone, and
// nothing is stored of those that are refused.
func TestWritersTogether(t *testing.T) { service.EachStore(t, testWritersTogether) }

func testWritersTogether(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, service.Ferries)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 6
	ferry := func(id string) string { return "/api/v1/ferries/" + id + "?context=main" }
	s.Must(token, http.MethodPost, "/api/v1/lines/l?context=main", `{"name": "Coast"}`, http.StatusCreated)
	etags := make([]string, service.WriterCount)
	for i := range service.WriterCount {
		a := s.Ask(token, http.MethodPost, ferry(fmt.Sprint("own", i)), `{"name": "Own", "line": "l", "decks": 1}`, nil)
		etags[i] = a.Header.Get("ETag")
	}
	var mu sync.Mutex
	taken := map[string]int{}
	// Each kind of call has an own answer.
	kinds := []func(client, round int) string{
		func(client, round int) string { // new, with a reference whose name is shown
			id := fmt.Sprintf("new%d-%d", client, round)
			a := s.Ask(token, http.MethodPost, ferry(id), `{"name": "New", "line": "l"}`, nil)
			return service.Expect(a, http.StatusCreated, `"id":"`+id+`"`, `"name":"Coast"`)
		},
		func(client, round int) string {
			id := fmt.Sprintf("invalid%d-%d", client, round)
			return service.Expect(s.Ask(token, http.MethodPost, ferry(id), `{"name": "Invalid", "decks": 0}`, nil), http.StatusUnprocessableEntity, `"objectId":"`+id+`"`)
		},
		func(client, round int) string {
			id := fmt.Sprintf("dangling%d-%d", client, round)
			return service.Expect(s.Ask(token, http.MethodPost, ferry(id), `{"name": "Dangling", "line": "none"}`, nil), http.StatusUnprocessableEntity, `"objectId":"`+id+`"`, "error.referenced.object.not.found")
		},
		func(client, _ int) string {
			return service.Expect(s.Ask(token, http.MethodPost, ferry(fmt.Sprint("own", client)), `{"decks": 99}`, http.Header{"If-Match": {`"99-x"`}}), http.StatusPreconditionFailed)
		},
		func(client, round int) string { // the version is the one that this client has seen
			a := s.Ask(token, http.MethodPost, ferry(fmt.Sprint("own", client)), fmt.Sprintf(`{"decks": %d}`, round+2), http.Header{"If-Match": {etags[client]}})
			etags[client] = a.Header.Get("ETag")
			return service.Expect(a, http.StatusOK, fmt.Sprintf(`"decks":%d`, round+2), `"name":"Coast"`)
		},
		func(client, _ int) string { // changes nothing
			a := s.Ask(token, http.MethodPost, ferry(fmt.Sprint("own", client)), `{"name": "Own"}`, nil)
			if got := a.Header.Get("ETag"); got != etags[client] {
				return fmt.Sprintf("the entity tag of what has not changed is %s, not %s", got, etags[client])
			}
			return service.Expect(a, http.StatusOK)
		},
		func(client, round int) string { // one has the value
			id := fmt.Sprintf("unique%d-%d", client, round)
			a := s.Ask(token, http.MethodPost, ferry(id), fmt.Sprintf(`{"name": "Unique", "callSign": "C%d"}`, round), nil)
			mu.Lock()
			defer mu.Unlock()
			if a.Status == http.StatusCreated {
				taken[fmt.Sprint(round)]++
				return ""
			}
			return service.Expect(a, http.StatusUnprocessableEntity, `"objectId":"`+id+`"`, "error.value.not.unique")
		},
		func(client, round int) string {
			id := fmt.Sprintf("dry%d-%d", client, round)
			return service.Expect(s.Ask(token, http.MethodPost, ferry(id)+"&validateOnly=true", `{"name": "Dry", "line": "l"}`, nil), http.StatusOK, `"id":"`+id+`"`)
		},
		func(client, round int) string { // everybody's, and each adds its own
			return service.Expect(s.Ask(token, http.MethodPost, ferry("hot"), fmt.Sprintf(`{"name": "Hot %d %d"}`, client, round), nil), 0, `"id":"hot"`)
		},
	}
	hot := 0
	var all sync.WaitGroup
	for client := range service.WriterCount {
		for round := range rounds {
			if (client+round)%len(kinds) == len(kinds)-1 {
				hot++
			}
		}
		all.Go(func() {
			for round := range rounds {
				if wrong := kinds[(client+round)%len(kinds)](client, round); wrong != "" {
					t.Errorf("client %d, round %d: %s", client, round, wrong)
				}
			}
		})
	}
	all.Wait()
	for round, n := range taken {
		if n != 1 {
			t.Errorf("in round %s, %d objects have the unique value", round, n)
		}
	}
	for _, kind := range []string{"invalid", "dangling", "dry"} {
		for client := range 2 * len(kinds) {
			for round := range rounds {
				if a := s.Ask(token, http.MethodGet, ferry(fmt.Sprintf("%s%d-%d", kind, client, round)), "", nil); a.Status != http.StatusNotFound {
					t.Fatalf("%s is stored: %d %s", kind, a.Status, a.Body)
				}
			}
		}
	}
	if a := s.Ask(token, http.MethodGet, ferry("hot"), "", nil); !strings.HasPrefix(a.Header.Get("ETag"), fmt.Sprintf(`"%d-`, hot)) {
		t.Errorf("after %d writes of the same object, its version is %s", hot, a.Header.Get("ETag"))
	}
	checkFeed(t, s.Store)
}

// checkFeed: the feed has each revision of each record once, and those of a record in
// their order. It returns the last ones.
func checkFeed(t *testing.T, s store.Store) (last map[string]int64) {
	t.Helper()
	last, position := map[string]int64{}, ""
	for {
		changes, next, err := s.Changes(context.Background(), position, 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			key := service.CrashKey(c.Collection, c.Network, c.ID)
			if c.Revision != last[key]+1 {
				t.Errorf("the feed has revision %d of %s after %d", c.Revision, key, last[key])
			}
			last[key] = c.Revision
		}
		if len(changes) == 0 {
			break
		}
		position = next
	}
	if len(last) == 0 {
		t.Error("the feed is empty")
	}
	return last
}

// TestWritersWhoLeave: clients that disconnect while their calls wait or run beside
// others have no effect on these.
func TestWritersWhoLeave(t *testing.T) { service.EachStore(t, testWritersWhoLeave) }

func testWritersWhoLeave(t *testing.T, fresh service.NewStore) {
	s := service.NewPlain(t, fresh, service.Ferries)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for client := range service.WriterCount {
		all.Go(func() {
			for round := range 8 {
				path := fmt.Sprintf("/api/v1/ferries/f%d-%d?context=main", client, round)
				body := fmt.Sprintf(`{"name": "Ferry %d"}`, client)
				if client%4 > 0 {
					if wrong := service.Expect(s.Ask(token, http.MethodPost, path, body, nil), http.StatusCreated); wrong != "" {
						t.Errorf("client %d, round %d: %s", client, round, wrong)
					}
					continue
				}
				ctx, cancel := context.WithCancel(context.Background())
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Server.URL+path, strings.NewReader(body))
				if err != nil {
					t.Error(err)
				}
				request.Header = http.Header{"Authorization": {"Bearer " + token}}
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					if response, err := s.Client.Do(request); err == nil {
						response.Body.Close()
					}
				}()
				// Others write once more before the client leaves.
				s.Ask(token, http.MethodPost, fmt.Sprintf("/api/v1/ferries/other%d?context=main", client), body, nil)
				cancel()
				<-sent
			}
		})
	}
	all.Wait()
	checkFeed(t, s.Store)
}
