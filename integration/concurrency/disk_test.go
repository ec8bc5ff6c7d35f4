package concurrency

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"marquee/integration/faultydisk"
	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// procServeOn starts the service on a disk.
func procServeOn(tb testing.TB, disk *faultydisk.Disk, store string, args ...string) *process.Process {
	tb.Helper()
	cmd := process.Command(tb, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password},
		append([]string{"serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", store}, args...)...)
	cmd.Args = disk.Command(append([]string{cmd.Path}, cmd.Args[1:]...)...)
	cmd.Path = cmd.Args[0]
	p := process.Launch(tb, cmd)
	p.Listens()
	return p
}

// TestFailingDisk lets the disk of a store fail under load, in each way, and then
// recover, or ends the service before it does. What was acknowledged is there afterwards;
// what was refused is not, unless its outcome was said to be unknown. A tenth of
// MARQUEE_CRASHES is the number of occurrences of each fault, MARQUEE_CRASH_SEED repeats the choices of a run that failed.
func TestFailingDisk(t *testing.T) {
	process.SkipCoveredBy(t, "'make crash'")
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store := service.NewSQLite(t)
		disk := faultydisk.New(t, filepath.Dir(service.SQLiteFile(store)))
		testFailingDisk(&failingDisk{T: t, store: store, disk: disk,
			serve: func() *process.Process { return procServeOn(t, disk, store) },
			mend:  func() { disk.Fail(nil) }})
	})
	t.Run("mongodb", func(t *testing.T) {
		t.Parallel()
		service.NeedStore(t, "mongodb")
		mongodb.Need(t)
		folder := t.TempDir()
		disk := faultydisk.New(t, folder)
		set := mongodb.NewReplicaSet(t, 1, mongodb.OnDisk(folder, disk.Command))
		store := set.URI("marquee")
		testFailingDisk(&failingDisk{T: t, store: store, disk: disk,
			serve: func() *process.Process { return process.Serve(t, store, "--request-timeout", "5s") },
			mend: func() { // as who runs the database: it gives up when its log cannot be written
				disk.Fail(nil)
				set.Kill(0)
				set.Start(0)
			}})
	})
}

func testFailingDisk(f *failingDisk) {
	seed := process.Number(f, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	f.Logf("MARQUEE_CRASH_SEED=%d", seed)
	f.random, f.hot = rand.New(rand.NewPCG(uint64(seed), 4)), map[string]int{}
	f.p = f.serve()
	f.p.SignIn("admin", process.Password)
	f.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/base?context=main", `{"name": "Base"}`)
	for i := range crashHots {
		id := fmt.Sprintf("hot-%d", i)
		f.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tiers/"+id+"?context=main", fmt.Sprintf(`{"name": "Hot", "description": %q}`, crashHotText(1)))
		f.hot[id] = 1
	}
	ends := []string{"killed", "stopped", "recovered"}
	for range max(1, process.Number(f, "MARQUEE_CRASHES", 10)/10) {
		for _, fault := range slices.Sorted(maps.Keys(faultydisk.Faults)) {
			f.fail(fault, ends[f.random.IntN(len(ends))])
		}
	}
	f.p.Stop()
	crashSweep(f.T, f.store)
}

// failingDisk is the real program under load on a disk that fails.
type failingDisk struct {
	*testing.T
	store  string
	disk   *faultydisk.Disk
	serve  func() *process.Process // starts the program
	mend   func()                  // makes the disk, and the store on it, work again
	p      *process.Process
	random *rand.Rand
	round  int
	hot    map[string]int // versions at the end of the last round
}

// fail is one round: writers meet a fault, and then the disk recovers or the process ends.
func (f *failingDisk) fail(fault, end string) {
	f.Helper()
	m := newCrashModel(fmt.Sprintf("r%d", f.round), 1+f.random.IntN(30))
	f.round++
	m.outages, m.ended = true, make(chan struct{})
	for _, h := range m.hot {
		h.first, h.doubted = f.hot[h.id], map[int]bool{}
	}
	var writers sync.WaitGroup
	for i := range crashWriters {
		w := &crashWriter{m: m, p: f.p, name: fmt.Sprintf("%sw%d", m.prefix, i), random: rand.New(rand.NewPCG(f.random.Uint64(), 0))}
		writers.Go(w.run)
	}
	<-m.reached
	f.disk.Fail(faultydisk.Faults[fault])
	process.Wants(f, f.p.AwaitReady(http.StatusServiceUnavailable), "error.store.")
	if f.disk.Hits() == 0 {
		f.Error("nothing has failed")
	}
	if end == "recovered" {
		f.mend()
		<-m.further(10)
		f.p.AwaitReady(http.StatusOK)
	}
	close(m.ended)
	writers.Wait()
	token := f.p.Token
	switch end {
	case "killed":
		f.p.Kill()
	case "stopped": // whatever it ends with
		f.p.Client.CloseIdleConnections()
		if err := f.p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			f.Fatal(err)
		}
		<-f.p.Exited
	}
	if end != "recovered" {
		f.mend()
		f.p = f.serve()
		f.p.Token = token
	}
	m.check(f.p)
	for _, wrong := range m.wrong {
		f.Errorf("%s, %s after %d answers: %s", fault, end, m.killAt, wrong)
	}
	f.Logf("%s, %s: %d writes, %d answers of 503; of those in doubt, %d were stored and %d were not", fault, end, m.acks, m.refused, m.survived, m.lost)
	for _, h := range m.hot {
		f.hot[h.id] = m.version(f.p, h)
	}
	if f.Failed() {
		f.FailNow()
	}
}

// TestNoResultOfAFailedCommit lets several clients create one object at once while all
// commits fail: nobody is told that it exists, or that its unique value is taken.
func TestNoResultOfAFailedCommit(t *testing.T) {
	process.SkipCoveredBy(t, "'make crash'")
	t.Parallel()
	store := service.NewSQLite(t)
	disk := faultydisk.New(t, filepath.Dir(service.SQLiteFile(store)))
	p := procServeOn(t, disk, store)
	p.SignIn("admin", process.Password)
	disk.Fail(faultydisk.Faults["write"])
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for round := range 10 {
				path, header := fmt.Sprintf("/api/v1/articles/a%d?context=main", round), http.Header{"If-None-Match": {"*"}}
				if i%2 == 0 {
					path = fmt.Sprintf("/api/v1/articles/a%d-%d?context=main", round, i)
				}
				a, err := p.Send(http.MethodPut, path, header, fmt.Appendf(nil, `{"url": "https://example.com/%d"}`, round))
				if err != nil || a.Status != http.StatusServiceUnavailable {
					t.Error(path, err, a)
				}
			}
		})
	}
	clients.Wait()
	if disk.Hits() == 0 {
		t.Error("nothing has failed")
	}
	p.AwaitReady(http.StatusServiceUnavailable)
	id, _ := service.Entry(p.Stderr.Await(t, 0, func(line string) bool { // the first one: the same reason is logged once a minute
		entry := service.Entry(line)
		return entry["msg"] == "request" && entry["path"] == "/readyz" && entry["status"] == float64(http.StatusServiceUnavailable)
	}))["requestId"].(string)
	if !slices.ContainsFunc(strings.Split(p.Stderr.String(), "\n"), func(line string) bool {
		return strings.Contains(line, "request refused") && strings.Contains(line, id) && strings.Contains(line, "disk I/O error")
	}) {
		t.Error("the log does not have the reason why /readyz answers 503")
	}
	disk.Fail(nil)
	p.AwaitReady(http.StatusOK)
	if n := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/articles?context=main", "").JSON().(map[string]any)["totalCount"]; fmt.Sprint(n) != "0" {
		t.Errorf("%v articles", n)
	}
	p.Stop()
}
