package advertising

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/integration/service"
)

// TestRacingCreatives changes creatives of one line item at once, so that no
// change sees the other: the warning is right all the same.
func TestRacingCreatives(t *testing.T) { service.EachStore(t, testRacingCreatives) }

func testRacingCreatives(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.LineItemParts()
	c.Send("POST", "/api/v1/lineitems?context=main", "["+service.Well("l", "")+","+service.Well("m", "")+"]", 200, "")
	ids := []string{"a", "b", "c"}
	for _, id := range ids {
		c.Send("POST", "/api/v1/creatives?context=main", service.Creative(id, "l"), 200, "")
	}
	// Each step says what becomes of the three at once, and whether l and m then
	// lack a creative.
	steps := []struct {
		name    string
		changes []string
		l, m    bool
	}{
		{"all are paused", []string{`{"userState": "PAUSED"}`, `{"userState": "PAUSED"}`, `{"userState": "PAUSED"}`}, true, true},
		{"all are approved", []string{`{"userState": "APPROVED"}`, `{"userState": "APPROVED"}`, `{"userState": "APPROVED"}`}, false, true},
		{"all go in different ways", []string{`{"userState": "PAUSED"}`, `{"objectState": "HIDDEN"}`, `{"lineItem": "m"}`}, true, false},
		{"two come and one goes", []string{`{"userState": "APPROVED"}`, `{"objectState": "ACTIVE"}`, `{"objectState": "INACTIVE"}`}, false, true},
		{"places are taken in turn", []string{`{"lineItem": "m"}`, `{"lineItem": "m"}`, `{"lineItem": "l", "objectState": "ACTIVE"}`}, false, false},
		{"and back", []string{`{"lineItem": "l"}`, `{"lineItem": "l"}`, `{"lineItem": "l"}`}, false, true},
	}
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		for _, step := range steps {
			c.Only(c.Race(len(ids), func(client int) (string, string, string, http.Header) {
				return "POST", "/api/v1/creatives/" + ids[client] + "?context=main", step.changes[client], nil
			}), map[int]int{200: len(ids)})
			for id, lacks := range map[string]bool{"l": step.l, "m": step.m} {
				if got := slices.Contains(warned(c, id), "no.creative"); got != lacks {
					t.Fatalf("round %d, %s: the line item %s is warned: %t", round, step.name, id, got)
				}
			}
		}
	}
	// Many first creatives at once.
	c.Send("POST", "/api/v1/lineitems?context=main", service.Well("new", ""), 200, "")
	c.Only(c.Race(service.Clients, func(client int) (string, string, string, http.Header) {
		return "POST", "/api/v1/creatives?context=main", service.Creative(fmt.Sprintf("new%d", client), "new"), nil
	}), map[int]int{200: service.Clients})
	if codes := warned(c, "new"); len(codes) > 0 {
		t.Error("with many creatives at once:", codes)
	}
	c.Only(c.Race(service.Clients, func(client int) (string, string, string, http.Header) {
		return "POST", fmt.Sprintf("/api/v1/creatives/new%d?context=main", client), `{"userState": "PAUSED"}`, nil
	}), map[int]int{200: service.Clients})
	if codes := warned(c, "new"); !slices.Equal(codes, []string{"no.creative"}) {
		t.Error("when all have gone at once:", codes)
	}
}

// TestRacingStates changes an order, a tier and a site while line items begin
// to refer to them, through several servers where there can be any. Neither
// side may see the other: the passes of the service make up for that.
func TestRacingStates(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		c := service.Converse(t, service.NewSQLite)
		racingStates(c, []*service.Service{c.Service})
	})
	t.Run("mongodb", func(t *testing.T) {
		t.Parallel()
		servers, token := service.NewServers(t, 3)
		c := &service.Conversation{T: t, Service: servers[0], Token: token}
		racingStates(c, servers)
	})
}

// racingStates has the servers catch up with missed states on demand, and then by
// themselves.
func racingStates(c *service.Conversation, servers []*service.Service) {
	c.LineItemParts()
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [{"type": "orders", "object": {"id": "p", "name": "P"}}, {"type": "tiers", "object": {"id": "u", "name": "U"}}]}`, 200, "")
	rounds := 15
	if testing.Short() {
		rounds = 5
	}
	missed := 0
	for round := range rounds {
		state := raceStates(c, servers, round)
		if statesMissed(c, state) > 0 {
			missed++
		}
		var wait sync.WaitGroup
		for _, s := range servers {
			wait.Go(func() {
				if err := s.Pass(); err != nil {
					c.Error(err)
				}
			})
		}
		wait.Wait()
		if n := statesMissed(c, state); n > 0 || c.Failed() {
			c.Fatalf("round %d: %d line items have not seen that all is %s", round, n, state)
		}
	}
	c.Logf("in %d of %d rounds there was something to make up for", missed, rounds)
	ctx, cancel := context.WithCancel(c.Context())
	var running sync.WaitGroup
	for _, s := range servers {
		running.Go(func() { s.Marquee.Run(ctx, time.Hour, slog.New(slog.DiscardHandler)) })
	}
	for round := rounds; round < rounds+6; round++ {
		state := raceStates(c, servers, round)
		for deadline := time.Now().Add(service.Patience); statesMissed(c, state) > 0; <-time.After(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				c.Fatalf("round %d: line items have not seen that all is %s", round, state)
			}
		}
	}
	cancel()
	running.Wait()
}

// raceStates changes the state of an order, a tier and a site while old and new
// line items begin to refer to them.
func raceStates(c *service.Conversation, servers []*service.Service, round int) (state string) {
	const writers = 6
	state = []string{"HIDDEN", "ACTIVE"}[round%2]
	var list []string
	for i := range writers {
		list = append(list, fmt.Sprintf(`{"id": "old%d-%d", "name": "Old", "order": "p", "tier": "u"}`, round, i))
	}
	c.Send("POST", "/api/v1/lineitems?context=main", "["+strings.Join(list, ",")+"]", 200, "")
	var wait sync.WaitGroup
	ask := func(i int, path, body string) {
		if a := servers[i%len(servers)].Ask(c.Token, "POST", path, body, nil); a.Status >= 300 {
			c.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	wait.Go(func() {
		ask(round, "/api/v1/batch?context=main", fmt.Sprintf(`{"operations": [{"type": "orders", "object": {"id": "o", "objectState": %[1]q}},
			{"type": "tiers", "object": {"id": "t", "objectState": %[1]q}}, {"type": "sites", "object": {"id": "s", "objectState": %[1]q}}]}`, state))
	})
	for i := range writers {
		const refers = `"order": "o", "tier": "t", "targeting": {"siteTarget": {"sites": ["s"]}}`
		wait.Go(func() {
			ask(i, fmt.Sprintf("/api/v1/lineitems/old%d-%d?context=main", round, i), "{"+refers+"}")
			ask(i+1, "/api/v1/lineitems?context=main", fmt.Sprintf(`{"id": "new%d-%d", "name": "New", %s}`, round, i, refers))
		})
	}
	wait.Wait()
	return state
}

// statesMissed counts the line items that do not know the state of what they
// refer to.
func statesMissed(c *service.Conversation, state string) (n int) {
	c.Helper()
	list, _ := c.Send("GET", "/api/v1/lineitems?context=main&pageSize=1000&where=order=o", "", 200, "").JSON().(map[string]any)
	results, _ := list["results"].([]any)
	for _, object := range results {
		codes := warnings(object)
		for _, code := range []string{"order.not.active", "tier.not.active", "target.hidden"} {
			if slices.Contains(codes, code) == (state == "ACTIVE") {
				n++
				break
			}
		}
	}
	return n
}
