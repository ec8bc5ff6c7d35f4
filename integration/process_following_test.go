package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestFollowingSurvivesKills kills the program again and again while the line
// items of a tier follow it: they all do in the end, and meanwhile /readyz and
// the log say so.
func TestFollowingSurvivesKills(t *testing.T) { eachStore(t, testFollowingSurvivesKills) }

func testFollowingSurvivesKills(t *testing.T, fresh newStore) {
	many, kills := 8000, 4
	if testing.Short() || procRace {
		many, kills = 3000, 2
	}
	store := crashStore(t, fresh)
	p := procServe(t, store)
	p.signIn("admin", procPassword)
	token := p.token
	p.ask(http.StatusCreated, "POST", "/api/v1/tiers/t?context=main", `{"name": "T"}`)
	for from := 0; from < many; from += 1000 {
		var list []string
		for i := from; i < from+1000; i++ {
			list = append(list, fmt.Sprintf(`{"id": "l%05d", "name": "L", "tier": "t", "order": null}`, i))
		}
		p.ask(http.StatusOK, "POST", "/api/v1/lineitems?context=main", "["+strings.Join(list, ",")+"]")
	}
	for round := range kills {
		state := []string{"INACTIVE", "ACTIVE"}[round%2]
		mark := p.stderr.mark()
		p.ask(http.StatusOK, "POST", "/api/v1/tiers/t?context=main", `{"objectState": "`+state+`"}`)
		if p.stderr.await(t, mark, procSays("updating the objects that depend on a changed one")) == "" {
			t.Fatal("the program has ended")
		}
		p.kill()
		endTransactions(t, store)
		p = procServe(t, store)
		p.token = token
		if p.stderr.await(t, 0, procSays("the objects that depend on a changed one are up to date")) == "" {
			t.Fatal("the program has ended")
		}
		if n := p.tiersSeen(many, state == "INACTIVE"); n != many {
			t.Fatalf("round %d: %d of %d line items have seen that the tier is %s", round, n, many, state)
		}
	}
	// What is behind is noted, until it is not.
	p.ask(http.StatusOK, "POST", "/api/v1/tiers/t?context=main", `{"objectState": "HIDDEN"}`)
	noted := false
	for deadline := time.Now().Add(procPatience); ; {
		ready := string(p.ask(http.StatusOK, "GET", "/readyz", "").body)
		if strings.Contains(ready, `"following"`) {
			noted = true
		} else if noted {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz says %s", ready)
		}
	}
	if n := p.tiersSeen(many, true); n != many {
		t.Errorf("%d of %d line items have seen that the tier is hidden", n, many)
	}
	p.stop()
}

// tiersSeen counts the line items that are warned of their tier, or are not.
func (p *proc) tiersSeen(many int, warned bool) (n int) {
	p.tb.Helper()
	for page := range (many + 999) / 1000 {
		body := string(p.ask(http.StatusOK, "GET", fmt.Sprintf("/api/v1/lineitems?context=main&pageSize=1000&page=%d&fields=validationWarnings", page), "").body)
		n += strings.Count(body, `"warning.line.item.tier.not.active"`)
	}
	if !warned {
		return many - n
	}
	return n
}
