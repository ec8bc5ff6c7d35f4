package reload

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/migration"
	"marquee/engine/schema"
	"marquee/integration/service"
)

// reloadsDuration is for how long schemas are changed while clients write;
// MARQUEE_RELOADS sets another, such as 5m, and MARQUEE_SEED the seed. How long
// writes take is judged only where MARQUEE_RELOADS is set: other tests run
// beside this one otherwise.
const reloadsDuration = 8 * time.Second

// reloads is one run: clients that write at random through some servers, while
// their schemas change at random.
type reloads struct {
	*testing.T
	servers []*service.Service
	token   string
	// reader may not see secrets, and member belongs to no team.
	reader, member string
	model          reloadModel
	// served are the schemas of the servers.
	served []reloadVenues
	tally  map[string]int

	mu   sync.Mutex
	took []time.Duration
	// pause is held for writing while objects are compared.
	pause sync.RWMutex
	n     atomic.Int64
}

const (
	reloadObjects = 400
	reloadWriters = 3
)

var reloadWords = []string{"north", "south", "east", "west", "harbour", "station", "market", "garden"}

// write sends one random write; a value that is taken is refused.
func (r *reloads) write(random *rand.Rand) {
	r.pause.RLock()
	defer r.pause.RUnlock()
	word := func() string { return reloadWords[random.IntN(len(reloadWords))] }
	id := fmt.Sprintf("v%d", random.IntN(reloadObjects))
	if random.IntN(3) == 0 {
		id = fmt.Sprintf("v%d", random.IntN(4)) // a hot one
	}
	object := map[string]any{}
	switch random.IntN(9) {
	case 6:
		object["state"] = []any{reloadState(random.IntN(reloadGenerations)), "B", nil}[random.IntN(3)]
	case 7:
		object["seat"] = []any{"front", nil, nil}[random.IntN(3)]
	case 8:
		object["extra"], object["labels"] = word(), []any{word()}
	case 0:
		object["name"] = word() + " " + word()
	case 1:
		object["code"] = word() + " " + strconv.FormatInt(r.n.Add(1), 10)
	case 2:
		object["labels"] = []any{word(), word()}
	case 3:
		object["note"] = fmt.Sprintf("%s %s %d", reloadSecret, word(), r.n.Add(1))
	case 4:
		object["team"] = []any{"t1", "t2", nil}[random.IntN(3)]
	default:
		object["name"], object["labels"], object["code"] = word(), nil, id+"/"+word()
	}
	body, err := json.Marshal(object)
	if err != nil {
		r.Error(err)
		return
	}
	s := r.servers[random.IntN(len(r.servers))]
	path := reloadName("venues", random.IntN(reloadGenerations)) // which may have been the path before, or be the next one
	first, began := r.model.begin(), time.Now()
	a := s.Ask(r.token, http.MethodPost, "/api/v1/"+path+"/"+id+"?context=main", string(body), nil)
	if a.Status == http.StatusNotFound && path != "venues" {
		first, began = r.model.begin(), time.Now()
		a = s.Ask(r.token, http.MethodPost, "/api/v1/venues/"+id+"?context=main", string(body), nil)
	}
	took := time.Since(began)
	switch a.Status {
	case http.StatusOK, http.StatusCreated:
		written, _ := a.JSON().(map[string]any)
		answer := reloadStored(written)
		object = reloadStored(object)
		if strings.Contains(strings.Join(a.Header["Warning"], " "), "/extra ") {
			delete(object, "extra") // which the schemas did not declare when the write began
		} else if answer["extra"] == nil {
			answer["extra"] = object["extra"] // which they do not declare any more
		}
		r.model.written(id, object, first)
		for property, value := range object {
			got, want := reloadText(answer[property]), reloadText(value)
			if got != want && !(property == "seat" && want == "" && got == reloadSeat) {
				r.Errorf("a write beside a reload: %s of %s is answered with %q instead of %q", property, id, got, want)
			}
		}
	case http.StatusUnprocessableEntity:
		answer, _ := a.JSON().(map[string]any)
		for _, entry := range answer["messages"].([]any) {
			code := fmt.Sprint(entry.(map[string]any)["code"])
			if _, names := object["name"]; code != "error.value.not.unique" && !(code == "error.value.too.long" && names) {
				r.Errorf("a write beside a reload of %s: %s", body, a.Body)
			}
		}
	default:
		r.Errorf("a write beside a reload: %d %.300s", a.Status, a.Body)
	}
	r.mu.Lock()
	r.took = append(r.took, took)
	r.mu.Unlock()
}

// writing lets clients write while do runs, and returns how long writes took.
func (r *reloads) writing(seed uint64, do func()) []time.Duration {
	r.took = nil
	var done atomic.Bool
	var wait sync.WaitGroup
	for writer := range reloadWriters {
		random := rand.New(rand.NewPCG(seed, uint64(writer)))
		wait.Go(func() {
			for !done.Load() && !r.Failed() {
				r.write(random)
			}
		})
	}
	do()
	done.Store(true)
	wait.Wait()
	slices.Sort(r.took)
	return r.took
}

// reload serves a schema on all servers, one after the other, or on some of them.
func (r *reloads) reload(v reloadVenues, on ...int) (served bool) {
	for n, s := range r.servers {
		if len(on) > 0 && !slices.Contains(on, n) {
			continue
		}
		if err := s.Swap(s.Engine, v.folder()); err != nil {
			var problems schema.Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), "cannot be unique") {
				r.Errorf("a reload to %s: %v", v, err)
			}
			return false
		}
		r.served[n] = v
	}
	return true
}

// differ serves different schemas on two servers, which are rolled forward, or back, afterwards.
func (r *reloads) differ(random *rand.Rand, served reloadVenues) reloadVenues {
	first := random.IntN(len(r.servers))
	next := served // with the same of what servers must agree on
	next.later = randomLater(random)
	if !r.reload(next, first) {
		r.Errorf("%s is refused beside %s", next, served)
	}
	r.amend(random)
	r.compare(random, fmt.Sprintf("a reload of server %d alone from %s to %s", first, served, next))
	if random.IntN(2) == 0 {
		next = served
	}
	r.reload(next)
	return next
}

// amend lets a server write stored objects as the schema asks for them.
func (r *reloads) amend(random *rand.Rand) {
	s := r.servers[random.IntN(len(r.servers))]
	if err := s.Engine.Amend(r.Context(), slog.New(slog.DiscardHandler)); err != nil {
		r.Error(err)
	}
}

// prune removes the values of a property that no server declares, beside writes.
func (r *reloads) prune(random *rand.Rand) {
	if slices.ContainsFunc(r.served, func(v reloadVenues) bool { return v.has("extra") }) {
		return
	}
	s, began := r.servers[random.IntN(len(r.servers))], r.model.begin()
	if err := s.Engine.Prune(r.Context(), "venues", "/extra"); err != nil {
		r.Error(err)
		return
	}
	for i := range reloadObjects {
		r.model.written(fmt.Sprintf("v%d", i), map[string]any{"extra": nil}, began)
	}
	t, _ := s.Engine.Registry().Type("venues")
	if left, err := migration.Undeclared(r.Context(), s.Store, t, "/extra"); err != nil || left["/extra"] > 0 {
		r.Errorf("%d values are left by their removal: %v", left["/extra"], err)
	}
	r.tally["pruned"]++
}

// TestReloadsOfModel changes schemas at random while clients write at random.
// After each reload, objects have the values that were written, and each filter,
// order, search, count and unique value is what a scan of the objects finds;
// secrets and teams are hidden from those who may not see them, nothing is
// answered by a fault of the service, and writes go on.
func TestReloadsOfModel(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) {
		reloadsAlone(t)
		testReloadsOfModel(t, []*service.Service{service.NewPlain(t, fresh, reloadVenues{}.folder())})
	})
}

// TestServersReloadsOfModel does the same through two servers.
func TestServersReloadsOfModel(t *testing.T) {
	t.Parallel()
	reloadsAlone(t)
	servers, _ := service.NewPlainServers(t, 2, reloadVenues{}.folder())
	testReloadsOfModel(t, servers)
}

var reloadsTurn sync.Mutex

// reloadsAlone waits for the other runs, whose writes would be in the way.
func reloadsAlone(t *testing.T) {
	reloadsTurn.Lock()
	t.Cleanup(reloadsTurn.Unlock)
}

func testReloadsOfModel(t *testing.T, servers []*service.Service) {
	duration, seed := reloadsDuration, uint64(time.Now().UnixNano())
	if text := os.Getenv("MARQUEE_RELOADS"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("MARQUEE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if testing.Short() {
		duration /= 4
	}
	t.Logf("MARQUEE_SEED=%d", seed)
	token, err := servers[0].SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	servers[0].Must(token, http.MethodPost, "/api/v1/batch?context=main", `{"operations": [
		{"type": "teams", "object": {"id": "t1", "name": "One"}}, {"type": "teams", "object": {"id": "t2", "name": "Two"}},
		{"type": "roles", "object": {"id": "reader", "name": "R", "scope": "NETWORK"}},
		{"type": "roles", "object": {"id": "member", "name": "M", "scope": "TEAM"}},
		{"type": "users", "object": {"id": "kari", "username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}]}]}}},
		{"type": "users", "object": {"id": "ola", "username": "ola", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "member"}]}]}}}]}`, http.StatusOK)
	fillVenues(servers[0], token, reloadObjects)
	r := &reloads{T: t, servers: servers, token: token, served: make([]reloadVenues, len(servers)), tally: map[string]int{}}
	if r.reader, err = servers[0].SignIn("kari"); err != nil {
		t.Fatal(err)
	}
	if r.member, err = servers[0].SignIn("ola"); err != nil {
		t.Fatal(err)
	}
	for _, object := range r.scan(servers[0]) {
		r.model.written(fmt.Sprint(object["id"]), object, r.model.begin())
	}
	random := rand.New(rand.NewPCG(seed, 0))
	alone := r.writing(seed+1, func() { time.Sleep(duration / 8) })
	tally := map[bool]int{}
	beside := r.writing(seed+2, func() {
		served := reloadVenues{}
		for end := time.Now().Add(duration); time.Now().Before(end) && !t.Failed(); {
			next := randomVenues(random, served)
			ok := r.reload(next)
			tally[ok]++
			if ok {
				served = next
			} else if len(servers) > 1 {
				served = next.plain() // as one of them may have served it
				if !r.reload(served) {
					t.Errorf("%s is refused", served)
				}
			}
			if random.IntN(2) == 0 {
				r.amend(random)
			}
			if random.IntN(2) == 0 {
				r.prune(random)
			}
			r.compare(random, fmt.Sprintf("reload %d (served: %t) of %s", tally[true]+tally[false], ok, next))
			if len(servers) > 1 && random.IntN(2) == 0 {
				served = r.differ(random, served)
			}
		}
	})
	if tally[true] > 40 && r.tally["pruned"] == 0 {
		t.Error("no values were removed")
	}
	median, high := alone[len(alone)/2], beside[len(beside)*99/100]
	t.Logf("%d writes, %d reloads, %d that were refused, and %d removals of values; without them, the median is %v and the 99th percentile %v; with them %v and %v, and the longest %v",
		len(beside), tally[true], tally[false], r.tally["pruned"], median, alone[len(alone)*99/100], beside[len(beside)/2], high, beside[len(beside)-1])
	if limit := max(5*median, 100*time.Millisecond); os.Getenv("MARQUEE_RELOADS") != "" && high > limit {
		t.Errorf("beside reloads, the 99th percentile of writes is %v, more than %v", high, limit)
	}
}
