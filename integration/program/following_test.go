package program

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestFollowingSurvivesKills kills the program again and again while the line
// items of a tier follow it: they all do in the end, and meanwhile /readyz and
// the log say so.
func TestFollowingSurvivesKills(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testFollowingSurvivesKills)
}

func testFollowingSurvivesKills(t *testing.T, fresh service.NewStore) {
	many, kills := 8000, 4
	if testing.Short() || service.RaceDetector {
		many, kills = 3000, 2
	}
	store := process.CrashStore(t, fresh)
	p := process.Serve(t, store)
	p.SignIn("admin", process.Password)
	token := p.Token
	p.Ask(http.StatusCreated, "POST", "/api/v1/tiers/t?context=main", `{"name": "T"}`)
	for from := 0; from < many; from += 1000 {
		var list []string
		for i := from; i < from+1000; i++ {
			list = append(list, fmt.Sprintf(`{"id": "l%05d", "name": "L", "tier": "t", "order": null}`, i))
		}
		p.Ask(http.StatusOK, "POST", "/api/v1/lineitems?context=main", "["+strings.Join(list, ",")+"]")
	}
	for round := range kills {
		state := []string{"INACTIVE", "ACTIVE"}[round%2]
		mark := p.Stderr.Mark()
		p.Ask(http.StatusOK, "POST", "/api/v1/tiers/t?context=main", `{"objectState": "`+state+`"}`)
		if p.Stderr.Await(t, mark, service.Says("updating the objects that depend on a changed one")) == "" {
			t.Fatal("the program has ended")
		}
		p.Kill()
		process.EndTransactions(t, store)
		p = process.Serve(t, store)
		p.Token = token
		if p.Stderr.Await(t, 0, service.Says("the objects that depend on a changed one are up to date")) == "" {
			t.Fatal("the program has ended")
		}
		if n := tiersSeen(p, many, state == "INACTIVE"); n != many {
			t.Fatalf("round %d: %d of %d line items have seen that the tier is %s", round, n, many, state)
		}
	}
	// What is behind is noted, until it is not.
	p.Ask(http.StatusOK, "POST", "/api/v1/tiers/t?context=main", `{"objectState": "HIDDEN"}`)
	noted := false
	for deadline := time.Now().Add(service.Patience); ; {
		ready := string(p.Ask(http.StatusOK, "GET", "/readyz", "").Body)
		if strings.Contains(ready, `"following"`) {
			noted = true
		} else if noted {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz says %s", ready)
		}
	}
	if n := tiersSeen(p, many, true); n != many {
		t.Errorf("%d of %d line items have seen that the tier is hidden", n, many)
	}
	p.Stop()
}

// tiersSeen counts the line items that are warned of their tier, or are not.
func tiersSeen(p *process.Process, many int, warned bool) (n int) {
	p.TB.Helper()
	for page := range (many + 999) / 1000 {
		body := string(p.Ask(http.StatusOK, "GET", fmt.Sprintf("/api/v1/lineitems?context=main&pageSize=1000&page=%d&fields=validationWarnings", page), "").Body)
		n += strings.Count(body, `"warning.line.item.tier.not.active"`)
	}
	if !warned {
		return many - n
	}
	return n
}
