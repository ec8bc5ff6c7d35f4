package concurrency

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

const (
	crashWriters = 8
	crashHots    = 4
	crashMost    = 150 // acknowledged writes before the process is killed
)

// TestCrash kills the process under load, again and again on one store, and
// looks whether every answer has kept its promise. MARQUEE_CRASHES is how
// often, MARQUEE_CRASH_SEED repeats the choices of a run that failed.
func TestCrash(t *testing.T) { service.EachStore(t, testCrash) }

func testCrash(t *testing.T, fresh service.NewStore) {
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	rounds = process.Number(t, "MARQUEE_CRASHES", rounds)
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))

	store := process.CrashStore(t, fresh)
	p := process.Serve(t, store)
	p.SignIn("admin", process.Password)
	token := p.Token // stays good over all crashes
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/base?context=main", `{"name": "Base"}`)
	for i := range crashHots {
		p.Ask(http.StatusCreated, http.MethodPost, fmt.Sprintf("/api/v1/tiers/hot-%d?context=main", i),
			fmt.Sprintf(`{"name": "Hot", "description": %q}`, crashHotText(1)))
	}
	acks, survived, lost := 0, 0, 0
	for round := range rounds {
		m := newCrashModel(fmt.Sprintf("r%d", round), 1+random.IntN(crashMost))
		crashRound(p, m, random)
		process.EndTransactions(t, store)
		acks += m.acks
		if random.IntN(4) == 0 {
			crashStart(t, store, time.Duration(random.Int64N(int64(150*time.Millisecond))))
		}
		p = process.Serve(t, store)
		p.Token = token
		m.check(p)
		for _, wrong := range m.wrong {
			t.Errorf("round %d, killed after %d answers: %s", round, m.killAt, wrong)
		}
		survived, lost = survived+m.survived, lost+m.lost
		if t.Failed() {
			return
		}
	}
	p.Stop()
	crashSweep(t, store)
	t.Logf("%d crashes, %d acknowledged writes; of those without an answer, %d were stored and %d were not", rounds, acks, survived, lost)
}

func newCrashModel(name string, killAt int) *crashModel {
	m := &crashModel{prefix: name + "-", urls: map[string]bool{}, killAt: killAt, reached: make(chan struct{})}
	for i := range crashHots {
		m.hot = append(m.hot, &crashHot{id: fmt.Sprintf("hot-%d", i), acked: map[int]bool{}})
	}
	return m
}

// crashRound writes, and kills the process at a random moment after a random
// number of answers.
func crashRound(p *process.Process, m *crashModel, random *rand.Rand) {
	var writers sync.WaitGroup
	for i := range crashWriters {
		w := &crashWriter{m: m, p: p, name: fmt.Sprintf("%sw%d", m.prefix, i), random: rand.New(rand.NewPCG(random.Uint64(), 0))}
		writers.Go(w.run)
	}
	later := time.Duration(random.Int64N(int64(4 * time.Millisecond)))
	<-m.reached
	<-time.After(later)
	p.Kill()
	writers.Wait()
}

// crashStart kills the process while it starts, at any point.
func crashStart(t *testing.T, store string, after time.Duration) {
	p := process.Launch(t, process.Command(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password}, "serve", "--addr", "127.0.0.1:0",
		"--store", store))
	<-time.After(after)
	p.Kill()
	process.EndTransactions(t, store)
}

// TestCrashFirstStart kills the process while it makes a new store. The next
// start makes what is missing.
func TestCrashFirstStart(t *testing.T) { service.EachStore(t, testCrashFirstStart) }

func testCrashFirstStart(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "'make crash'")
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	rounds = min(process.Number(t, "MARQUEE_CRASHES", rounds), 30)
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	for range rounds {
		store := process.CrashStore(t, fresh)
		crashStart(t, store, time.Duration(random.Int64N(int64(250*time.Millisecond))))
		p := process.Serve(t, store)
		p.SignIn("admin", process.Password)
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/first?context=main", `{"text": "The service works."}`)
		p.Stop()
	}
}
