package concurrency

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"marquee/integration/service"
)

// TestIdempotencyOfRequestsAtOnce sends the same requests several times at once, through
// several servers, or one on SQLite: each creates one object, which all answers have.
func TestIdempotencyOfRequestsAtOnce(t *testing.T) { service.EachStore(t, testIdempotencyAtOnce) }

func testIdempotencyAtOnce(t *testing.T, fresh service.NewStore) {
	first := service.New(t, fresh, invoices(`, "x-sequence": {"start": 1}`))
	servers := []*service.Service{first}
	if strings.HasPrefix(first.URI, "mongodb") {
		s := &service.Service{TB: t, URI: first.URI, Key: first.Key, Schemas: first.Schemas, Clock: first.Clock, UserID: first.UserID}
		s.Start()
		t.Cleanup(s.End)
		servers = append(servers, s)
	}
	token, err := first.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const keys, times = 20, 6
	var mu sync.Mutex
	created, carriedOut := map[string]string{}, map[string]int{}
	var clients sync.WaitGroup
	for i := range keys * times {
		key, s := fmt.Sprintf("key-%d", i/times), servers[i%len(servers)]
		clients.Go(func() {
			header := http.Header{"Authorization": {"Bearer " + token}, "Idempotency-Key": {key}}
			a, err := s.Send(http.MethodPost, "/api/v1/invoices?context=main", header, strings.NewReader(`{"name": "`+key+`"}`))
			if err != nil {
				t.Error(err)
				return
			}
			if a.Status == http.StatusConflict && strings.Contains(string(a.Body), `"error.conflict"`) {
				return
			}
			object, _ := a.JSON().(map[string]any)
			results, _ := object["results"].([]any)
			if a.Status != http.StatusOK || len(results) != 1 {
				t.Errorf("%s: %d %s", key, a.Status, a.Body)
				return
			}
			id := fmt.Sprint(results[0].(map[string]any)["id"])
			mu.Lock()
			defer mu.Unlock()
			if created[key] != "" && created[key] != id {
				t.Errorf("%s has created %s and %s", key, created[key], id)
			}
			created[key] = id
			if a.Header.Get("Idempotency-Replayed") == "" {
				carriedOut[key]++
			}
		})
	}
	clients.Wait()
	for key := range created {
		if carriedOut[key] != 1 {
			t.Errorf("%s was carried out %d times", key, carriedOut[key])
		}
	}
	a, err := first.Send(http.MethodGet, "/api/v1/invoices?context=main", http.Header{"Authorization": {"Bearer " + token}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if list, _ := a.JSON().(map[string]any); fmt.Sprint(list["totalCount"]) != fmt.Sprint(keys) || len(created) != keys {
		t.Errorf("%v objects were created for %d of %d keys", list["totalCount"], len(created), keys)
	}
}
