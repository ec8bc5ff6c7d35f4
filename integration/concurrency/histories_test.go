package concurrency

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"marquee/integration/faultydisk"
	"marquee/integration/histories"
	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

const (
	historyClients = 64
	// historyObjects is the number of registers of a round, and that of lists.
	historyObjects = 20
	// historyRound is the number of operations on these objects. Then the clients go on
	// with new ones, so that each history is short enough to be judged.
	historyRound = 3000
)

// TestHistories lets clients write and read a few objects at once while the program is
// killed, and judges what they have seen: operations on single objects are linearizable,
// transactions serializable, and the history has each of them. MARQUEE_HISTORIES is the
// number of operations, MARQUEE_HISTORIES_SEED repeats the choices of a run that failed.
func TestHistories(t *testing.T) { service.EachStore(t, testHistories) }

func testHistories(t *testing.T, fresh service.NewStore) {
	operations := 5000
	if service.RaceDetector {
		operations = 400
	}
	operations = process.Number(t, "MARQUEE_HISTORIES", operations)
	store := process.CrashStore(t, fresh)
	h := newHistorian(t, store)
	h.serve()
	for h.operations < operations {
		h.observe(min(historyRound, operations-h.operations), func() { h.p.Kill() }, func() {
			process.EndTransactions(t, store)
			h.serve()
		})
	}
	h.finish()
}

// TestHistoriesOfFailedCommits is TestHistories on a disk that fails now and then, so that
// writes that share a commit are rolled back together: nobody sees anything of them, not
// even who is refused.
func TestHistoriesOfFailedCommits(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	operations := max(1200, process.Number(t, "MARQUEE_HISTORIES", 0)/10)
	store := service.NewSQLite(t)
	h := newHistorian(t, store)
	h.disk = faultydisk.New(t, filepath.Dir(service.SQLiteFile(store)))
	h.serve()
	faults := []faultydisk.Fault{faultydisk.Faults["write"], faultydisk.Faults["fsync"]}
	for h.operations < operations {
		h.observe(min(400, operations-h.operations), func() { h.disk.Fail(faults[h.rounds%2]) }, func() {
			if h.disk.Hits() == 0 {
				t.Error("nothing has failed")
			}
			h.disk.Fail(nil)
			h.p.AwaitReady(http.StatusOK)
		})
	}
	h.finish()
}

// TestHistoriesWithoutPrimary is TestHistories with a replica set that loses its primary,
// in one way after the other, while the program goes on. Of the operations of
// MARQUEE_HISTORIES, it makes a tenth.
func TestHistoriesWithoutPrimary(t *testing.T) {
	t.Parallel()
	operations := process.Number(t, "MARQUEE_HISTORIES", 0) / 10
	if operations == 0 {
		t.Skip("the loss of primaries under recorded histories takes minutes: set MARQUEE_HISTORIES")
	}
	service.NeedStore(t, "mongodb")
	set := mongodb.NewReplicaSet(t, failoverMembers)
	f := &failover{T: t, set: set}
	h := newHistorian(t, set.URI("marquee"))
	h.serve()
	losses := []struct{ begin, end func(member int) }{
		{set.Kill, set.Start}, {set.Pause, set.Resume}, {func(int) { set.StepDown() }, func(int) {}}, {f.cutOff, set.Start},
	}
	round := min(historyRound, operations/len(losses)) // so that each loss happens
	for h.operations < operations {
		loss, primary := losses[h.rounds%len(losses)], 0
		h.observe(round, func() {
			primary = set.Primary()
			loss.begin(primary)
		}, func() {
			loss.end(primary)
			f.whole()
		})
	}
	h.finish()
}

// historian runs clients in rounds, each on objects of its own, and judges what they
// have seen.
type historian struct {
	*testing.T
	store   string           // its URI
	disk    *faultydisk.Disk // of the program, if it fails
	schemas string           // the folder
	p       *process.Process
	token   string
	random  *rand.Rand
	rounds  int
	// revisions are those of all objects after their rounds, by type and id.
	revisions map[string]int64
	// The rest counts what was done.
	operations, committed, aborted, unknown, listed, refusedBookings, refusedOnShelves, removed int
}

func newHistorian(t *testing.T, store string) *historian {
	t.Helper()
	seed := process.Number(t, "MARQUEE_HISTORIES_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_HISTORIES_SEED=%d", seed)
	h := &historian{T: t, store: store, schemas: t.TempDir(), random: rand.New(rand.NewPCG(uint64(seed), 3)), revisions: map[string]int64{}}
	schema := func(name, properties string, rules ...string) {
		process.File(t, filepath.Join(h.schemas, name+".json"), fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": %q,
"x-resource": {"path": %q%s}, "type": "object", "properties": {%s}}`, name, name, strings.Join(rules, ""), properties))
	}
	schema(historyRegisters, `"value": {"type": "string"}`)
	schema(historyAccounts, `"balance": {"type": "integer"}`)
	schema(historyCopies, "", `, "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`)
	schema(historyLoans, `"copy": {"x-ref": "copies"}`)
	schema(historyBookings, `"hall": {"type": "string"}, "begin": {"type": "integer"}, "end": {"type": "integer"}, "seat": {"type": "integer"}`, historyBookingRules)
	for _, kind := range historyLists {
		schema(kind, historySlotProperties())
	}
	return h
}

// serve starts the program, again with the token of the first time.
func (h *historian) serve() {
	h.Helper()
	args := []string{"--application", "none", "--schemas", h.schemas, "--request-timeout", "10s"}
	if h.disk != nil {
		h.p = procServeOn(h.T, h.disk, h.store, args...)
	} else {
		h.p = process.Serve(h.T, h.store, args...)
	}
	if h.token == "" {
		h.p.SignIn("admin", process.Password)
		h.token = h.p.Token
	}
	h.p.Token = h.token
}

// finish stops the program and judges the feed.
func (h *historian) finish() {
	h.Helper()
	h.p.Stop()
	h.checkFeed()
	h.Logf("%d operations in %d rounds: %d were acknowledged, %d had no effect, and the outcome of %d was unknown; %d revisions are in the feed; %d bookings were refused; %d objects were removed, and %d removals and references refused",
		h.operations, h.rounds, h.committed, h.aborted, h.unknown, h.listed, h.refusedBookings, h.removed, h.refusedOnShelves)
	if h.refusedBookings == 0 || h.removed == 0 || h.refusedOnShelves == 0 {
		h.Error("no booking was refused, nothing was removed, or no removal or reference refused")
	}
}

// history is one round: what the clients do together, and what they have seen.
type history struct {
	h     *historian
	round int
	began time.Time
	// left counts the operations that nobody has begun.
	left atomic.Int64
	// disturbAt is what is left when disturb is closed.
	disturbAt int64
	disturb   chan struct{}
	values    atomic.Int64 // that were used
	slots     [historyObjects]atomic.Int64
	clients   []*historyClient
}

// observe runs a round. Begin disturbs the program while clients use it; when all have
// done what they can, end repairs it, and they do the rest.
func (h *historian) observe(operations int, begin, end func()) {
	h.Helper()
	y := &history{h: h, round: h.rounds, began: time.Now(), disturb: make(chan struct{})}
	h.rounds++
	h.operations += operations
	y.left.Store(int64(operations))
	y.disturbAt = int64(operations) - 1 - h.random.Int64N(int64(operations/2))
	y.make()
	clients := y.start()
	select {
	case <-y.disturb:
	case <-clients:
	}
	begin()
	<-clients
	end()
	for left := int64(-1); left != y.left.Load(); <-y.start() {
		left = y.left.Load()
	}
	if left := y.left.Load(); left > 0 {
		h.Fatalf("round %d: %d operations were not made\n%s", y.round, left, h.p.Stderr)
	}
	last := &historyClient{y: y, p: h.p, random: h.random, number: len(y.clients)}
	y.clients = append(y.clients, last)
	for i := range historyObjects {
		last.readRegister(i)
		last.readList(i)
	}
	last.readBank()
	for n := range historyHalls {
		last.readBookings(n)
	}
	for n := range historyShelves {
		last.readCopies(n)
		last.readLoans(n)
	}
	y.judge()
	if h.Failed() {
		h.FailNow()
	}
}

// make makes the objects of the round.
func (y *history) make() {
	for kind, objects := range map[string]func(i int) string{
		historyRegisters: func(i int) string { return fmt.Sprintf(`{"id": %q, "value": %q}`, y.id(i), historyFirst) },
		historyLists[0]:  func(i int) string { return fmt.Sprintf(`{"id": %q}`, y.id(i)) },
		historyLists[1]:  func(i int) string { return fmt.Sprintf(`{"id": %q}`, y.id(i)) },
	} {
		var list []string
		for i := range historyObjects {
			if kind == historyRegisters || kind == historyList(i) {
				list = append(list, objects(i))
			}
		}
		y.h.p.Ask(http.StatusOK, http.MethodPost, "/api/v1/"+kind+"?context=main", "["+strings.Join(list, ",")+"]")
	}
	y.h.p.Ask(http.StatusOK, http.MethodPost, "/api/v1/"+historyAccounts+"?context=main", service.ArrayOf(historyBank, func(i int) string {
		return fmt.Sprintf(`{"id": %q, "balance": %d}`, y.account(i), historyBalance)
	}))
	y.h.p.Ask(http.StatusOK, http.MethodPost, "/api/v1/"+historyBookings+"?context=main", service.ArrayOf(historyHalls*historyHall, func(i int) string {
		return y.bookingObject(i/historyHall, i%historyHall, booking{})
	}))
	y.h.p.Ask(http.StatusOK, http.MethodPost, "/api/v1/"+historyLoans+"?context=main", service.ArrayOf(historyShelves*historyShelfLoans, func(i int) string {
		return y.loanObject(i/historyShelfLoans, i%historyShelfLoans, 0)
	}))
}

func (y *history) id(i int) string { return fmt.Sprintf("r%d-%d", y.round, i) }

// now is the time since the round began. It never goes back.
func (y *history) now() int64 { return int64(time.Since(y.began)) }

// start runs clients until nothing is left to do, or each has lost its connection or is
// in doubt. It closes the channel when all have ended.
func (y *history) start() <-chan struct{} {
	var running sync.WaitGroup
	for range historyClients {
		c := &historyClient{y: y, p: y.h.p, number: len(y.clients), random: rand.New(rand.NewPCG(y.h.random.Uint64(), 0))}
		y.clients = append(y.clients, c)
		running.Go(c.run)
	}
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	return ended
}

// take begins an operation, if there is one left.
func (y *history) take() bool {
	left := y.left.Add(-1)
	if left == y.disturbAt {
		close(y.disturb)
	}
	if left < 0 {
		y.left.Add(1)
	}
	return left >= 0
}

// historyClient sends one request after another. What it has seen is its own until it
// has ended.
type historyClient struct {
	y      *history
	p      *process.Process
	number int
	random *rand.Rand
	// ended reports whether the outcome of the last request is unknown.
	ended bool
	// versions are those that this client saw last of each register.
	versions [historyObjects]int64
	accesses [historyObjects][]histories.Access
	lists    []listTransaction
	bookings [historyHalls][]porcupine.Operation
	shelves  [historyShelves][]porcupine.Operation
	wrong    []string
	// refusedBookings counts those that others stand in the way of, refusedOnShelves the
	// removals, creations and references, removed the objects.
	refusedBookings, refusedOnShelves, removed int
	// The rest counts the outcomes of writes and reads.
	committed, aborted, unknown int
}

func (c *historyClient) run() {
	for !c.ended && len(c.wrong) == 0 && c.y.take() {
		switch n := c.random.IntN(13); {
		case n < 3:
			c.useRegister(c.random.IntN(historyObjects))
		case n < 6:
			c.useLists()
		case n < 8:
			c.useBookings()
		case n < 11:
			c.useShelves()
		default:
			c.useBank()
		}
	}
}

func (c *historyClient) fail(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf("client %d: ", c.number)+fmt.Sprintf(format, args...))
}

// sent is a request with what its answer says of its outcome.
type sent struct {
	*service.Answer
	begin, end int64
	outcome    histories.Outcome
}

// send sends a request, whose answer may have one of certain statuses. A conflict, a
// server that is too busy and a store that is not available have no effect; of other
// failures, nobody knows.
func (c *historyClient) send(method, path string, header http.Header, body string, allowed ...int) sent {
	s := sent{begin: c.y.now()}
	a, err := c.p.Send(method, path, header, []byte(body))
	s.Answer, s.end = a, c.y.now()
	switch {
	case err != nil:
		c.ended = true
	case a.Status < 300:
		s.outcome = histories.Committed
	case a.Status == http.StatusServiceUnavailable && !strings.Contains(string(a.Body), `"error.server.busy"`):
		c.ended = true
		if strings.Contains(string(a.Body), `"error.store.unavailable"`) {
			s.outcome = histories.Aborted
		}
	case a.Status < 500 || a.Status == http.StatusServiceUnavailable:
		s.outcome = histories.Aborted
	}
	if err == nil {
		c.expect(method+" "+path+" "+body, a, allowed)
	}
	switch s.outcome {
	case histories.Committed:
		c.committed++
	case histories.Aborted:
		c.aborted++
	default:
		c.unknown++
	}
	return s
}

func (c *historyClient) expect(what string, a *service.Answer, allowed []int) {
	for _, status := range append(allowed, http.StatusConflict, http.StatusServiceUnavailable) {
		if a.Status == status {
			return
		}
	}
	c.fail("%s: %d %s", what, a.Status, a.Body)
}

// version is that of the entity tag of an answer.
func (s sent) version() int64 { return int64(crashVersion(s.Header.Get("ETag"))) }

// object decodes an object.
func (c *historyClient) object(text []byte) map[string]any {
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		c.fail("%v: %s", err, text)
	}
	return object
}

// judge looks at the whole round.
func (y *history) judge() {
	h := y.h
	h.Helper()
	var wrong []string
	for _, c := range y.clients {
		wrong = append(wrong, c.wrong...)
		h.refusedBookings, h.refusedOnShelves, h.removed = h.refusedBookings+c.refusedBookings, h.refusedOnShelves+c.refusedOnShelves, h.removed+c.removed
		h.committed, h.aborted, h.unknown = h.committed+c.committed, h.aborted+c.aborted, h.unknown+c.unknown
	}
	if len(wrong) == 0 {
		for i := range historyObjects {
			wrong = append(wrong, y.judgeRegister(i)...)
		}
		wrong = append(wrong, y.judgeLists()...)
		for n := range historyHalls {
			wrong = append(wrong, y.judgeBookings(n)...)
		}
		for n := range historyShelves {
			wrong = append(wrong, y.judgeShelf(n)...)
		}
	}
	for n, what := range wrong {
		if n == 20 {
			h.Errorf("round %d: and %d more", y.round, len(wrong)-n)
			break
		}
		h.Errorf("round %d: %s", y.round, what)
	}
}
