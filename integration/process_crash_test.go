package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

const (
	crashWriters = 8
	crashHots    = 4
	crashMost    = 150 // acknowledged writes before the process is killed
)

// TestCrash kills the process under load, again and again on one store, and
// looks whether every answer has kept its promise. MARQUEE_CRASHES is how
// often, MARQUEE_CRASH_SEED repeats the choices of a run that failed.
func TestCrash(t *testing.T) { eachStore(t, testCrash) }

func testCrash(t *testing.T, fresh newStore) {
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	rounds = procNumber(t, "MARQUEE_CRASHES", rounds)
	seed := procNumber(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))

	store := fresh(t)
	p := procServe(t, store)
	p.signIn("admin", procPassword)
	token := p.token // stays good over all crashes
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/base?context=main", `{"name": "Base"}`)
	for i := range crashHots {
		p.ask(http.StatusCreated, http.MethodPost, fmt.Sprintf("/api/v1/tiers/hot-%d?context=main", i),
			fmt.Sprintf(`{"name": "Hot", "description": %q}`, crashHotText(1)))
	}
	acks, survived, lost := 0, 0, 0
	for round := range rounds {
		m := newCrashModel(fmt.Sprintf("r%d", round), 1+random.IntN(crashMost))
		crashRound(p, m, random)
		acks += m.acks
		if random.IntN(4) == 0 {
			crashStart(t, store, time.Duration(random.Int64N(int64(150*time.Millisecond))))
		}
		p = procServe(t, store)
		p.token = token
		m.check(p)
		for _, wrong := range m.wrong {
			t.Errorf("round %d, killed after %d answers: %s", round, m.killAt, wrong)
		}
		survived, lost = survived+m.survived, lost+m.lost
		if t.Failed() {
			return
		}
	}
	p.stop()
	crashSweep(t, store)
	t.Logf("%d crashes, %d acknowledged writes; of those without an answer, %d were stored and %d were not", rounds, acks, survived, lost)
}

func procNumber(tb testing.TB, variable string, other int) int {
	tb.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("%s: %v", variable, err)
	}
	return n
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
func crashRound(p *proc, m *crashModel, random *rand.Rand) {
	var writers sync.WaitGroup
	for i := range crashWriters {
		w := &crashWriter{m: m, p: p, name: fmt.Sprintf("%sw%d", m.prefix, i), random: rand.New(rand.NewPCG(random.Uint64(), 0))}
		writers.Go(w.run)
	}
	later := time.Duration(random.Int64N(int64(4 * time.Millisecond)))
	<-m.reached
	<-time.After(later)
	p.kill()
	writers.Wait()
}

// crashStart kills the process while it starts, at whatever it does then.
func crashStart(t *testing.T, store string, after time.Duration) {
	p := procLaunch(t, procCommand(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword}, "serve", "--addr", "127.0.0.1:0",
		"--store", store))
	<-time.After(after)
	p.kill()
}

// TestCrashFirstStart kills the process while it makes a new store. The next
// start makes what is missing.
func TestCrashFirstStart(t *testing.T) { eachStore(t, testCrashFirstStart) }

func testCrashFirstStart(t *testing.T, fresh newStore) {
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	rounds = min(procNumber(t, "MARQUEE_CRASHES", rounds), 30)
	seed := procNumber(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	for range rounds {
		store := fresh(t)
		crashStart(t, store, time.Duration(random.Int64N(int64(250*time.Millisecond))))
		p := procServe(t, store)
		p.signIn("admin", procPassword)
		p.ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/first?context=main", `{"text": "The service works."}`)
		p.stop()
	}
}

// crashSweep looks at the whole store when no process has it open.
func crashSweep(t *testing.T, store string) {
	db, err := sqlite3.OpenFlags("file:"+sqliteFile(store), sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(sql string) (lines []string) {
		s, _, err := db.Prepare(sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		for s.Step() {
			text := ""
			for i := range s.ColumnCount() {
				text += s.ColumnText(i) + " "
			}
			lines = append(lines, text)
		}
		if err := errors.Join(s.Err(), s.Close()); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return lines
	}
	none := func(what, sql string) {
		for _, line := range rows(sql) {
			t.Errorf("%s: %s", what, line)
		}
	}
	none("the file", "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
	all := 0
	for _, kind := range []string{"advertisers", "orders", "tiers", "lineitems", "articles", "networks", "roles", "users"} {
		none(kind+": a record and its history differ", fmt.Sprintf(`SELECT network, id, version, n FROM r_%[1]s LEFT JOIN
(SELECT network AS cn, id AS ci, count(DISTINCT version) AS n, count(*) AS a, max(version) AS v FROM changes WHERE collection='%[1]s' GROUP BY 1, 2)
ON cn = network AND ci = id WHERE n IS NOT version OR a IS NOT version OR v IS NOT version`, kind))
		none(kind+": history without its record", fmt.Sprintf(`SELECT DISTINCT network, id FROM changes WHERE collection='%[1]s'
AND NOT EXISTS (SELECT 1 FROM r_%[1]s r WHERE r.network = changes.network AND r.id = changes.id)`, kind))
		none(kind+": a term without its record", fmt.Sprintf(`SELECT * FROM t_%[1]s WHERE record NOT IN (SELECT seq FROM r_%[1]s)`, kind))
		all += len(rows("SELECT 1 FROM r_" + kind))
	}
	for kind, property := range map[string]string{"articles": "url", "users": "username"} {
		none(kind+": a claim without its record", fmt.Sprintf(`SELECT * FROM claims c WHERE collection='%[1]s' AND NOT EXISTS
(SELECT 1 FROM r_%[1]s r WHERE r.network = c.network AND r.id = c.id AND json_quote(r.doc->>'$.%[2]s') = c.value)`, kind, property))
		none(kind+": a record without its claim", fmt.Sprintf(`SELECT * FROM r_%[1]s r WHERE r.doc->>'$.%[2]s' IS NOT NULL AND NOT EXISTS
(SELECT 1 FROM claims c WHERE collection='%[1]s' AND r.network = c.network AND r.id = c.id AND json_quote(r.doc->>'$.%[2]s') = c.value)`, kind, property))
	}
	for _, ref := range [][3]string{{"orders", "advertiser", "advertisers"}, {"lineitems", "order", "orders"}, {"lineitems", "tier", "tiers"}} {
		none(ref[0]+": a reference that leads nowhere", fmt.Sprintf(`SELECT network, id, doc FROM r_%[1]s r WHERE r.doc->>'$.%[2]s' IS NOT NULL AND NOT EXISTS
(SELECT 1 FROM r_%[3]s o WHERE o.network = r.network AND o.id IN (r.doc->>'$.%[2]s', CASE json_type(r.doc, '$.%[2]s') WHEN 'object' THEN r.doc->>'$.%[2]s.id' END))`,
			ref[0], ref[1], ref[2]))
	}
	t.Logf("%d records", all)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
