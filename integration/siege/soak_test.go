package siege

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"marquee/integration/alerts"
	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// soakSamples is the number of times that a quarter of a soak reads the metrics.
const soakSamples = 40

// soak is a service under the load of honest clients for a long time, whose schemas are reloaded,
// which is backed up, and whose store fails.
type soak struct {
	*siege
	start   func() *process.Process
	store   string
	set     *mongodb.ReplicaSet // nil on SQLite
	backups string
	quarter time.Duration
	reloads int
	h       *honestLoad

	samples []map[string]float64
	// calm are the numbers of samples before which there was no fault for a time.
	calm []int
}

// TestSoak: in the first quarter of MARQUEE_SOAK, the program is stopped and killed. In the others,
// one process must take no more memory, files, goroutines, log and time in the last quarter than
// in the second.
func TestSoak(t *testing.T) {
	text := os.Getenv("MARQUEE_SOAK")
	if text == "" {
		t.Skip("a soak takes minutes: run 'make soak'")
	}
	during, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("sqlite", func(t *testing.T) {
		beside(t)
		soakStore(t, service.NewSQLite, nil, during)
	})
	t.Run("mongodb", func(t *testing.T) {
		beside(t)
		set := mongodb.NewReplicaSet(t, 3)
		soakStore(t, func(testing.TB) string { return set.URI("marquee") }, set, during)
	})
}

// beside runs a test beside others, unless times are judged.
func beside(t *testing.T) {
	if os.Getenv("MARQUEE_SIEGE") == "" {
		t.Parallel()
	}
}

func soakStore(t *testing.T, fresh service.NewStore, set *mongodb.ReplicaSet, during time.Duration) {
	s := &soak{store: process.CrashStore(t, fresh), set: set, backups: t.TempDir(), quarter: during / 4}
	s.siege = newSiege(t, s.store, func(cmd *exec.Cmd) {
		s.start = func() *process.Process {
			again := exec.Command(cmd.Path, cmd.Args[1:]...)
			again.Env, again.Dir = cmd.Env, cmd.Dir
			return process.Launch(t, again)
		}
	})
	// A token of a session would expire within an hour.
	s.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/soak?context=main", `{"name": "Soak", "scope": "NETWORK", "permissions": ["ALL"]}`)
	made, _ := s.p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tokens/soak?context=main", `{"name": "Soak", "role": "soak"}`).JSON().(map[string]any)
	s.p.Token, _ = made["token"].(string)
	s.load()
	s.live(s.quarter / 3)
	s.reload()
	s.ends(s.p.Stop)
	s.live(s.quarter / 3)
	s.ends(s.p.Kill)
	s.reload()
	s.fault() // as memory that a backup has taken is kept for the next
	s.live(s.quarter / 3)
	first := len(s.samples)
	for range 3 {
		s.live(s.quarter / 4)
		s.reload()
		s.live(s.quarter / 4)
		s.calm = append(s.calm, len(s.samples)-first-1)
		s.fault()
		s.live(s.quarter / 4)
		s.reload()
		s.live(s.quarter / 4)
	}
	s.h.end()
	t.Logf("reads %s; writes %s; lists %s", s.h.reads, s.h.writes, s.h.lists)
	s.samples = s.samples[first:]
	s.judge()
	s.evaluate()
	s.p.Kill()
	process.EndTransactions(t, s.store)
	s.p = s.start()
	s.p.Listens()
	s.p.AwaitReady(http.StatusOK)
	s.p.Stop()
}

// load starts the honest clients, who also write batches, and read the history and /readyz.
func (s *soak) load() {
	s.private = s.p.Private()
	s.h = s.honest()
	p := s.from(1).p
	s.h.wait.Go(func() {
		s.h.repeat(func(i int) {
			s.h.send(p, http.MethodPost, "/api/v1/batch?context=main", fmt.Sprintf(`{"operations": [{"type": "orders", "object": {"id": "soak", "name": "Order %[1]d"}},
				{"type": "notes", "object": {"id": "soak", "text": "Note %[1]d"}}]}`, i))
			s.h.send(p, http.MethodGet, "/api/v1/audit?context=main&pageSize=5", "")
			s.h.send(p, http.MethodGet, "/readyz", "")
		})
	})
}

// live reads the metrics for a time.
func (s *soak) live(during time.Duration) {
	s.t.Helper()
	pace := time.NewTicker(s.quarter / soakSamples)
	defer pace.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); <-pace.C {
		s.samples = append(s.samples, alerts.SeriesOf(s.p.Metrics(s.private)))
	}
}

// reload changes the schemas.
func (s *soak) reload() {
	s.t.Helper()
	s.reloads++
	f := process.Folder{Process: s.p, Dir: s.schemas}
	f.Drop("gadgets.json", process.Schema("gadgets", fmt.Sprintf(`, "size": {"type": "integer", "maximum": %d}`, 1+s.reloads%2)), process.Loaded)
}

// ends has the process end in a way, under load, and starts it again.
func (s *soak) ends(how func()) {
	s.t.Helper()
	s.h.faults.Add(1)
	how()
	s.h.end()
	process.EndTransactions(s.t, s.store)
	token := s.p.Token
	s.p = s.start()
	s.p.Listens()
	s.p.Token = token
	s.load()
}

// fault backs the store up, or takes the primary from it.
func (s *soak) fault() {
	s.t.Helper()
	if s.set == nil {
		process.Run(s.t, nil, "backup", s.backups, "--keep", "2", "--quiet", "--store", s.store)
		return
	}
	s.h.faults.Add(1)
	s.set.StepDown()
	s.set.Primary()
	s.p.AwaitReady(http.StatusOK)
	s.h.faults.Add(1)
}

// judge compares the last quarter with the second one.
func (s *soak) judge() {
	s.t.Helper()
	strict, most, garbage := os.Getenv("MARQUEE_SIEGE") != "", 1.2, 16.0 // beside other work, a process keeps more garbage for a time
	if strict {
		most, garbage = 1.1, 0
	}
	third := len(s.samples) / 3
	quarters := [3][]map[string]float64{s.samples[:third], s.samples[third : 2*third], s.samples[2*third:]}
	for _, m := range []struct {
		name string
		// slack is what the last quarter may have beyond most times the second.
		slack float64
		of    func(samples []map[string]float64) float64
		timed bool
	}{
		{"memory (MiB)", garbage, average("process_resident_memory_bytes", 1<<20), false},
		{"files", 4, average("process_open_fds", 1), false},
		{"goroutines", 8, average("go_goroutines", 1), false},
		{"write-ahead log (MiB)", 1, average("marquee_sqlite_wal_bytes", 1<<20), false},
		{"reads (ms)", 0, took("read"), true},
		{"lists (ms)", 0, took("list"), true},
		{"writes (ms)", 0, took("write"), true},
		{"batches (ms)", 0, took("batch"), true},
	} {
		second, last := m.of(quarters[0]), m.of(quarters[2])
		s.t.Logf("%-22s %8.2f %8.2f %8.2f", m.name, second, m.of(quarters[1]), last)
		if last > most*second+m.slack && (strict || !m.timed) {
			s.t.Errorf("%s: %.2f in the second quarter, and %.2f in the last", m.name, second, last)
		}
	}
	if last := s.samples[len(s.samples)-1]; s.set == nil && last["marquee_backup_last_timestamp_seconds"] < float64(time.Now().Add(-s.quarter*2).Unix()) {
		s.t.Error("the metrics do not have the time of the last backup")
	}
	if made, err := filepath.Glob(filepath.Join(s.backups, "*.db")); err != nil || s.set == nil && len(made) != 2 {
		s.t.Errorf("the backups are %v %v", made, err)
	}
}

// average returns what computes the mean of a series, in a unit.
func average(series string, unit float64) func([]map[string]float64) float64 {
	return func(samples []map[string]float64) (sum float64) {
		for _, sample := range samples {
			sum += sample[series] / unit
		}
		return sum / float64(len(samples))
	}
}

// took returns what computes how many milliseconds the requests with an operation have taken.
func took(operation string) func([]map[string]float64) float64 {
	return func(samples []map[string]float64) float64 {
		first, last := samples[0], samples[len(samples)-1]
		of := func(what string) float64 {
			series := fmt.Sprintf(`marquee_request_duration_seconds_%s{operation=%q}`, what, operation)
			return last[series] - first[series]
		}
		return 1000 * of("sum") / of("count")
	}
}

// evaluate checks that no alert fires on the metrics of the calm times, of which each sample is
// that of a minute.
func (s *soak) evaluate() {
	s.t.Helper()
	alerts.Need(s.t)
	series := map[string]string{`up{job="marquee",instance="here"}`: fmt.Sprintf("1x%d", len(s.samples))}
	for name := range s.samples[0] {
		var values strings.Builder
		for _, sample := range s.samples {
			fmt.Fprintf(&values, "%.9f ", sample[name])
		}
		series[alerts.Labelled(name)] = values.String()
	}
	series[alerts.Labelled("marquee_time_seconds")] = fmt.Sprintf("0+60x%d", len(s.samples))
	rules := alerts.Rules(s.t)
	if os.Getenv("MARQUEE_SIEGE") == "" {
		rules = slices.DeleteFunc(rules, func(r alerts.Rule) bool { return r.Alert == "MarqueeSlow" || r.Alert == "MarqueeWritesWait" })
	}
	var cases []alerts.Case
	for _, at := range s.calm {
		cases = append(cases, alerts.Case{Series: series, At: fmt.Sprintf("%dm", at), Rules: rules})
	}
	alerts.Evaluate(s.t, cases...)
}
