package reload

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestCrashPrune kills the server, and the command, while the values of a property are removed
// beside writes. If the removal has begun, the next start finishes it; otherwise, the command
// can be given again. Each object is written once.
func TestCrashPrune(t *testing.T) { service.EachStore(t, testCrashPrune) }

func testCrashPrune(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "'make crash'")
	const objects = 1500
	rounds := max(2, min(process.Number(t, "MARQUEE_CRASHES", 2)/2, 12))
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 4))
	store, dir := process.CrashStore(t, fresh), t.TempDir()
	set := func(properties string) {
		next := process.File(t, filepath.Join(t.TempDir(), "next"), amendableFile("", properties))
		if err := os.Rename(next, filepath.Join(dir, "tickets.json")); err != nil {
			t.Fatal(err)
		}
	}
	left := func() string {
		t.Helper()
		// Which takes no lease on MongoDB, as --dry-run does.
		_, n, _ := strings.Cut(process.Run(t, nil, "schema", "show", "tickets", "--application", "none", "--store", store, "--schemas", dir), "\n/fax ")
		return strings.TrimSpace(n)
	}
	pruned := 0
	for round := range rounds {
		set(`, "fax": {"type": "string"}`)
		p := process.Serve(t, store, "--application", "none", "--schemas", dir)
		p.SignIn("admin", process.Password)
		for from := 0; from < objects; from += 500 {
			var list []string
			for i := from; i < from+500; i++ {
				list = append(list, fmt.Sprintf(`{"id": "t%d", "name": "T %d", "fax": "secret-%d"}`, i, round, round))
			}
			p.Ask(http.StatusOK, http.MethodPost, "/api/v1/tickets?context=main", "["+strings.Join(list, ",")+"]")
		}
		from := p.Stderr.Mark()
		set("")
		p.Stderr.Await(t, from, service.Says(process.Loaded))
		command := process.Launch(t, process.Command(t, nil, "schema", "prune", "tickets", "fax", "--application", "none", "--store", store, "--schemas", dir))
		after := time.Now().Add(time.Duration(random.Int64N(int64(2 * time.Second))))
		for i := 0; time.Now().Before(after); i++ {
			a, err := p.Send(http.MethodPost, fmt.Sprintf("/api/v1/tickets/t%d?context=main", i%50), nil, []byte(fmt.Sprintf(`{"name": "T %d %d"}`, round, i)))
			if err != nil || a.Status != http.StatusOK {
				t.Fatalf("beside the removal: %v %v", err, a)
			}
		}
		command.Kill()
		p.Kill()
		process.EndTransactions(t, store)
		if round > 0 {
			process.EndLease(t, store)
		}
		p = process.Serve(t, store, "--application", "none", "--schemas", dir)
		p.SignIn("admin", process.Password)
		switch n := left(); n {
		case "":
		case "1,500": // it had not begun, or not come far
			process.Run(t, nil, "schema", "prune", "tickets", "fax", "--application", "none", "--store", store, "--schemas", dir)
		default:
			pruned++
			p.Eventually("the removal is not finished", func() bool { return left() == "" })
		}
		p.Eventually("the history has values", func() bool {
			a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=tickets&id=t1499", "")
			return !strings.Contains(string(a.Body), "secret")
		})
		for i := 50; i < objects; i += 100 {
			tag := p.Ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/tickets/t%d?context=main", i), "").Header.Get("ETag")
			if !strings.HasPrefix(tag, fmt.Sprintf(`"%d-`, 2*round+2)) {
				t.Errorf("t%d has %s in round %d", i, tag, round)
			}
		}
		p.Stop()
	}
	process.Wants(t, process.Run(t, nil, "check", "--application", "none", "--store", store, "--schemas", dir), "nothing is wrong")
	t.Logf("%d of %d were interrupted between objects", pruned, rounds)
}
