package concurrency

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSequencesOfCrashes kills the process while clients create objects, again and again
// on one store: no number is given twice, those of one client grow, and each crash costs
// no more than the block that was reserved.
func TestSequencesOfCrashes(t *testing.T) { service.EachStore(t, testSequencesOfCrashes) }

func testSequencesOfCrashes(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "'make crash'")
	const start, block = 1000, 400
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 2))
	schemas := t.TempDir()
	process.File(t, filepath.Join(schemas, "invoices.json"), fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema",
"x-resource": {"path": "invoices"}, "type": "object", "properties": {"number": {"type": "integer", "x-sequence": {"start": %d}}}}`, start))
	store := process.CrashStore(t, fresh)
	token, numbers := "", &givenNumbers{by: map[int64]string{}}
	for round := range rounds + 1 {
		p := process.Serve(t, store, "--application", "none", "--schemas", schemas)
		if p.Token = token; token == "" {
			p.SignIn("admin", process.Password)
			token = p.Token // stays good over all crashes
		}
		numbers.check(p)
		if most := start + int64(len(numbers.by)+round*block); numbers.most >= most {
			t.Errorf("%d numbers reach %d after %d crashes", len(numbers.by), numbers.most, round)
		}
		if t.Failed() || round == rounds {
			p.Stop()
			return
		}
		numbers.create(p, 20+random.IntN(150))
		process.EndTransactions(t, store)
	}
}

// givenNumbers are the objects that were created, by their numbers.
type givenNumbers struct {
	mu   sync.Mutex
	by   map[int64]string
	most int64
	made int
}

// create creates objects until a number of them was acknowledged, and then kills the process.
func (g *givenNumbers) create(p *process.Process, acknowledged int) {
	before, enough := g.made, make(chan struct{})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for last := int64(0); ; {
				a, err := p.Send(http.MethodPost, "/api/v1/invoices?context=main", nil, []byte(`[{}, {}]`))
				if err != nil {
					return
				}
				results, _ := a.JSON().(map[string]any)["results"].([]any)
				for _, result := range results {
					n := numberOf(result)
					if n <= last {
						p.TB.Errorf("%d follows %d", n, last)
					}
					last = n
					g.note(p, result)
				}
				g.mu.Lock()
				if g.made++; g.made == before+acknowledged {
					close(enough)
				}
				g.mu.Unlock()
			}
		})
	}
	<-enough
	p.Kill()
	clients.Wait()
}

// note remembers an object, and fails if another has its number.
func (g *givenNumbers) note(p *process.Process, object any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, n := fmt.Sprint(object.(map[string]any)["id"]), numberOf(object)
	if other, given := g.by[n]; given && other != id {
		p.TB.Errorf("%s and %s have the number %d", other, id, n)
	}
	g.by[n], g.most = id, max(g.most, n)
}

// check reads the stored objects, whether their creation was acknowledged or not.
func (g *givenNumbers) check(p *process.Process) {
	p.TB.Helper()
	acknowledged, stored := len(g.by), 0
	for page := 0; ; page++ {
		list, _ := p.Ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/invoices?context=main&pageSize=100&page=%d", page), "").JSON().(map[string]any)
		results, _ := list["results"].([]any)
		for _, result := range results {
			g.note(p, result)
		}
		if stored += len(results); len(results) < 100 {
			break
		}
	}
	if stored < acknowledged || stored != len(g.by) {
		p.TB.Errorf("%d objects with %d numbers, of which %d were acknowledged", stored, len(g.by), acknowledged)
	}
}
