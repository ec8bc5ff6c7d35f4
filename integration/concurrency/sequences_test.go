package concurrency

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"

	"marquee/integration/service"
)

// invoices is a folder with a type whose objects are numbered in some way.
func invoices(numbering string) fs.FS {
	return service.TypeWith("invoices", `, "search": ["name"]`, `"name": {"type": "string"}, "number": {"type": "integer"`+numbering+`}`)
}

// TestSequencesInBlocks creates objects through several servers, or one on SQLite: each
// number is given once, and numbers grow for a client that stays with its server.
func TestSequencesInBlocks(t *testing.T) { service.EachStore(t, testSequencesInBlocks) }

func testSequencesInBlocks(t *testing.T, fresh service.NewStore) {
	servers := []*service.Service{service.New(t, fresh, invoices(`, "x-sequence": {"start": 1000}`))}
	first := servers[0]
	another := func() *service.Service {
		s := &service.Service{TB: t, URI: first.URI, Key: first.Key, Schemas: first.Schemas, Clock: first.Clock, UserID: first.UserID}
		s.Start()
		t.Cleanup(s.End)
		return s
	}
	if strings.HasPrefix(first.URI, "mongodb") {
		servers = append(servers, another(), another())
	}
	token, err := first.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen, most := map[int64]bool{}, int64(0)
	note := func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		if seen[n] || n < 1000 {
			t.Errorf("%d is given again", n)
		}
		seen[n], most = true, max(most, n)
	}
	const clients, times = 9, 30
	var wait sync.WaitGroup
	for client := range clients {
		s := servers[client%len(servers)]
		wait.Go(func() {
			last := int64(0)
			for i := range times {
				body := `[{}]`
				if i%10 == client { // several at once, refused or not
					body = `[{}, {"name": 1}]`
				} else if i%5 == 0 {
					body = `[{}, {}, {}]`
				}
				a := s.Ask(token, http.MethodPost, "/api/v1/invoices?context=main", body, nil)
				if strings.Contains(body, "1") {
					if a.Status != http.StatusUnprocessableEntity {
						t.Errorf("%d %s", a.Status, a.Body)
					}
					continue
				}
				results, _ := a.JSON().(map[string]any)["results"].([]any)
				if a.Status != http.StatusOK || len(results) == 0 {
					t.Errorf("%d %s", a.Status, a.Body)
					return
				}
				for _, result := range results {
					n := numberOf(result)
					if note(n); n <= last {
						t.Errorf("%d follows %d", n, last)
					}
					last = n
				}
			}
		})
	}
	wait.Wait()
	// A server gives up no more than the block that it has reserved.
	const blocks = 2 * 100
	if limit := 1000 + int64(len(seen)+len(servers)*blocks); most >= limit {
		t.Errorf("%d numbers reach %d", len(seen), most)
	}
	first.Stop()
	first.Start()
	a := first.Ask(token, http.MethodPut, "/api/v1/invoices/last?context=main", `{}`, nil)
	before, n := most, numberOf(a.JSON())
	if note(n); n <= before || n > before+int64(len(servers))*blocks {
		t.Errorf("%d follows %d after a restart", n, before)
	}
}

func numberOf(object any) int64 {
	members, _ := object.(map[string]any)
	var n int64
	fmt.Sscan(fmt.Sprint(members["number"]), &n)
	return n
}

// TestSequencesOfMany numbers a thousand objects with one reservation, also if another
// follows.
func TestSequencesOfMany(t *testing.T) { service.EachStore(t, testSequencesOfMany) }

func testSequencesOfMany(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh, invoices(`, "x-sequence": {}`))
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	body := "[" + strings.Repeat("{},", 999) + "{}]"
	for call := range 2 {
		results, _ := s.Must(token, http.MethodPost, "/api/v1/invoices?context=main", body, http.StatusOK)["results"].([]any)
		for i, result := range results {
			if n := numberOf(result); n != int64(call*1000+i+1) {
				t.Fatalf("object %d of call %d has the number %d", i, call, n)
			}
		}
	}
}
