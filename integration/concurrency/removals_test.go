package concurrency

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"marquee/engine/catalog"
	"marquee/engine/store"
	"marquee/integration/service"
)

// TestRemovalsBesideReferences removes objects and creates them again, while other clients
// refer to them and end their references, through several servers, or one on SQLite: what
// the clients see is what they would see if the requests ran one after another. No
// reference leads to what is gone.
func TestRemovalsBesideReferences(t *testing.T) { service.EachStore(t, testRemovalsBesideReferences) }

const (
	removalTargets = 4
	removalClients = 16
)

// removalServers are servers of one store with copies that can be removed, and loans.
func removalServers(t *testing.T, fresh service.NewStore) (servers []*service.Service, token string) {
	first := service.New(t, fresh, service.TypeWith("copies", `, "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`, `"name": {"type": "string"}`),
		service.TypeWith("loans", "", `"copy": {"x-ref": "copies"}`))
	servers = []*service.Service{first}
	if strings.HasPrefix(first.URI, "mongodb") {
		for range 2 {
			s := &service.Service{TB: t, URI: first.URI, Key: first.Key, Schemas: first.Schemas, Clock: first.Clock, UserID: first.UserID}
			s.Start()
			t.Cleanup(s.End)
			servers = append(servers, s)
		}
	}
	token, err := first.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return servers, token
}

// removalCall is a request about one copy. Status is that of its answer.
type removalCall struct {
	what   string
	client int
	status int
}

// removalState is a copy, and the clients whose loans refer to it.
type removalState struct {
	exists bool
	refers [removalClients]bool
}

// removalModel is the copy and its loans without concurrency.
var removalModel = porcupine.Model{
	Init: func() any { return removalState{} },
	Step: func(state, input, _ any) (bool, any) {
		is, call := state.(removalState), input.(removalCall)
		want := http.StatusOK
		switch call.what {
		case "create":
			if want = http.StatusCreated; is.exists {
				want = http.StatusPreconditionFailed
			}
			is.exists = true
		case "remove":
			switch {
			case !is.exists:
				want = http.StatusNotFound
			case is.refers != [removalClients]bool{}:
				want = http.StatusConflict
			default:
				want, is.exists = http.StatusNoContent, false
			}
		case "refer":
			if !is.exists {
				want = http.StatusUnprocessableEntity
			} else {
				is.refers[call.client] = true
			}
		case "end":
			is.refers[call.client] = false
		case "read":
			if !is.exists {
				want = http.StatusNotFound
			}
		}
		return call.status == want, is
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

func testRemovalsBesideReferences(t *testing.T, fresh service.NewStore) {
	servers, token := removalServers(t, fresh)
	times := 5000/removalClients + 1
	if service.RaceDetector {
		times /= 8
	}
	for i := range removalTargets {
		for client := range removalClients {
			servers[0].Must(token, http.MethodPut, fmt.Sprintf("/api/v1/loans/%d-%d?context=main", client, i), `{}`, http.StatusCreated)
		}
	}
	var mu sync.Mutex
	seen := make([][]porcupine.Operation, removalTargets)
	counts := map[string]int{}
	begun := time.Now()
	calls := strings.Fields("create create remove remove refer refer end end end read")
	seed := service.TestSeed(t)
	var wait sync.WaitGroup
	for client := range removalClients {
		s, random := servers[client%len(servers)], rand.New(rand.NewPCG(seed, uint64(client)))
		wait.Go(func() {
			for range times {
				i := client % removalTargets // so that few refer to each
				call := removalCall{what: calls[random.IntN(len(calls))], client: client}
				begin := time.Since(begun)
				var unclear bool
				call.status, unclear = sendRemovalCall(s, token, call, i)
				end := time.Since(begun)
				if unclear {
					continue // without effect
				}
				mu.Lock()
				seen[i] = append(seen[i], porcupine.Operation{ClientId: client, Input: call, Call: int64(begin), Return: int64(end)})
				counts[fmt.Sprint(call.what, " ", call.status)]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	t.Log(counts)
	for _, what := range []string{"remove 204", "remove 409", "refer 200", "refer 422"} {
		if counts[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
	for i, operations := range seen {
		if result := porcupine.CheckOperationsTimeout(removalModel, operations, time.Minute); result != porcupine.Ok {
			t.Errorf("copy %d: %s: %v", i, result, operations)
		}
	}
	checkRemovals(t, servers[0], token)
}

// sendRemovalCall returns the status of the answer. It reports whether the request was
// refused because of others, and so had no effect.
func sendRemovalCall(s *service.Service, token string, call removalCall, i int) (status int, unclear bool) {
	target, loan := fmt.Sprintf("/api/v1/copies/c%d?context=main", i), fmt.Sprintf("/api/v1/loans/%d-%d?context=main", call.client, i)
	var a *service.Answer
	switch call.what {
	case "create":
		a = s.Ask(token, http.MethodPut, target, `{"name": "x"}`, http.Header{"If-None-Match": {"*"}})
	case "remove":
		a = s.Ask(token, http.MethodDelete, target, "", nil)
	case "refer":
		a = s.Ask(token, http.MethodPut, loan, fmt.Sprintf(`{"copy": "c%d"}`, i), nil)
	case "end":
		a = s.Ask(token, http.MethodPut, loan, `{"copy": null}`, nil)
	default:
		a = s.Ask(token, http.MethodGet, target, "", nil)
	}
	return a.Status, strings.Contains(string(a.Body), "error.conflict")
}

// checkRemovals checks what is stored in the end: no reference leads to what is gone, and
// the versions of each copy are without gaps.
func checkRemovals(t *testing.T, s *service.Service, token string) {
	page := s.Must(token, http.MethodGet, "/api/v1/loans?context=main&pageSize=1000", "", http.StatusOK)
	there := map[string]bool{}
	for _, id := range service.IDsOf(s.Must(token, http.MethodGet, "/api/v1/copies?context=main", "", http.StatusOK)) {
		there[id] = true
	}
	for _, loan := range page["results"].([]any) {
		if to, refers := loan.(map[string]any)["copy"].(map[string]any); refers && !there[fmt.Sprint(to["id"])] {
			t.Errorf("a reference to what is gone: %v", loan)
		}
	}
	for i := range removalTargets {
		audit := s.Must(token, http.MethodGet, fmt.Sprintf("/api/v1/audit?context=main&type=copies&id=c%d&pageSize=1000", i), "", http.StatusOK)
		entries, _ := audit["results"].([]any)
		for n, entry := range entries { // newest first
			if version := fmt.Sprint(entry.(map[string]any)["version"]); version != fmt.Sprint(len(entries)-n) {
				t.Errorf("entry %d of %d of copy %d is of version %s", n, len(entries), i, version)
			}
		}
	}
}

// TestReferenceBeforeLocks adds a reference in a transaction whose snapshot lacks the records that
// a removal has created and locked since: one of the two runs again. On SQLite, transactions run
// one after another.
func TestReferenceBeforeLocks(t *testing.T) {
	service.NeedStore(t, "mongodb")
	servers, _ := removalServers(t, service.Reusing(t))
	e, ctx := servers[0].Engine, t.Context()
	target := catalog.Referred{Place: store.Place{Collection: "copies", Network: "main"}, ID: "c"}
	removed := func(tx store.Tx) error { return e.LockRemoval(ctx, tx, target) }
	runs := 0
	err := e.Store.Write(ctx, func(tx store.Tx) error {
		if _, err := store.Existing(ctx, tx, target.Collection, []store.Key{{Network: target.Network, ID: target.ID}}); err != nil {
			return err
		}
		if runs++; runs == 1 {
			for range 2 { // the second finds the records
				if err := e.Store.Write(ctx, removed); err != nil {
					return err
				}
			}
		}
		return e.LockReferences(ctx, tx, 0, []catalog.Referred{target})
	})
	if err != nil || runs != 2 {
		t.Errorf("a transaction that adds a reference runs %d times: %v", runs, err)
	}
}

// TestReferencesBesideLongTransactions adds references while a transaction, as of a large import,
// has locked half of the records that they could lock: they do not wait for it.
func TestReferencesBesideLongTransactions(t *testing.T) {
	service.NeedStore(t, "mongodb")
	servers, token := removalServers(t, service.Reusing(t))
	s, ctx := servers[0], t.Context()
	target := catalog.Referred{Place: store.Place{Collection: "copies", Network: "main"}, ID: "c"}
	s.Must(token, http.MethodPut, "/api/v1/copies/c?context=main", `{}`, http.StatusCreated)
	runs := 0
	err := s.Engine.Store.Write(ctx, func(tx store.Tx) error {
		runs++
		for lane := 0; lane < 64; lane += 2 {
			if err := s.Engine.LockReferences(ctx, tx, lane, []catalog.Referred{target}); err != nil {
				return err
			}
		}
		for i := range 4 {
			s.Must(token, http.MethodPut, fmt.Sprintf("/api/v1/loans/%d-%d?context=main", runs, i), `{"copy": "c"}`, http.StatusCreated)
		}
		return nil
	})
	if err != nil || runs != 1 {
		t.Errorf("the transaction that has locked records runs %d times: %v", runs, err)
	}
}
