package program

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestCrashKeepsRefreshTokens kills the process while it replaces a refresh token: sent
// again, it has one successor, whether or not an answer had arrived.
func TestCrashKeepsRefreshTokens(t *testing.T) {
	process.SkipCoveredBy(t, "'make crash'")
	service.EachStore(t, testCrashKeepsRefreshTokens)
}

func testCrashKeepsRefreshTokens(t *testing.T, fresh service.NewStore) {
	type tokens struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	store := process.CrashStore(t, fresh)
	interval := []string{"--refresh-reuse-interval", "1h"}
	p := process.Serve(t, store, interval...)
	a, err := p.Authenticate("admin", process.Password)
	if err != nil || a.Status != http.StatusOK {
		t.Fatal(a, err)
	}
	var session tokens
	if err := json.Unmarshal(a.Body, &session); err != nil {
		t.Fatal(err)
	}
	refresh := func(p *process.Process, token string) (status int, got tokens) {
		body, err := json.Marshal(map[string]string{"grant_type": "refresh_token", "refresh_token": token})
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Send(http.MethodPost, "/api/authenticate", http.Header{"Content-Type": {"application/json"}}, body)
		if err != nil {
			return 0, got // the process was killed
		}
		_ = json.Unmarshal(a.Body, &got)
		return a.Status, got
	}
	rounds := 6
	if testing.Short() {
		rounds = 3
	}
	current, lost := session.Refresh, 0
	for round := range rounds {
		received := make(chan tokens, 1)
		go func() {
			_, got := refresh(p, current)
			received <- got
		}()
		<-time.After(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
		p.Kill()
		before := <-received
		process.EndTransactions(t, store)
		p = process.Serve(t, store, interval...)
		status, after := refresh(p, current)
		if status != http.StatusOK {
			t.Fatalf("round %d: after the crash, the refresh token is answered with %d", round, status)
		}
		if before.Refresh == "" {
			lost++
		} else if before.Refresh != after.Refresh {
			t.Fatalf("round %d: before the crash, the successor was another one", round)
		}
		p.Token = after.Access
		p.Ask(http.StatusOK, http.MethodGet, "/api/v1/networks/main", "")
		current = after.Refresh
	}
	p.Stop()
	t.Logf("%d crashes, %d without an answer", rounds, lost)
}
