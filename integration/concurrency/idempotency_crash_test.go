package concurrency

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestIdempotencyOfCrashes kills the process while clients create objects, again and again on
// one store. Each request is sent up to three times with its key, before and after crashes,
// and creates exactly one object.
func TestIdempotencyOfCrashes(t *testing.T) { service.EachStore(t, testIdempotencyOfCrashes) }

func testIdempotencyOfCrashes(t *testing.T, fresh service.NewStore) {
	process.SkipCoveredBy(t, "'make crash'")
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	rounds = process.Number(t, "MARQUEE_CRASHES", rounds)
	seed := process.Number(t, "MARQUEE_CRASH_SEED", int(time.Now().UnixNano()))
	t.Logf("MARQUEE_CRASH_SEED=%d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	schemas := t.TempDir()
	process.File(t, filepath.Join(schemas, "parcels.json"), parcels)
	store := process.CrashStore(t, fresh)
	token, k := "", &keyedRequests{created: map[string]string{}}
	for round := range rounds + 1 {
		p := process.Serve(t, store, "--application", "none", "--schemas", schemas)
		if p.Token = token; token == "" {
			p.SignIn("admin", process.Password)
			token = p.Token // stays good over all crashes
			k.signIn(p)
		}
		if round == rounds {
			k.complete(p)
			k.check(p)
			p.Stop()
			break
		}
		later := time.Duration(random.Int64N(int64(20 * time.Millisecond)))
		k.send(p, answersOfRound(t, random, rounds), func() {
			<-time.After(later)
			p.Kill()
		})
		process.EndTransactions(t, store)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d crashes, %d keys, %d of them sent after a crash, of which the write before it was stored for %d",
		rounds, len(k.created), k.resent, k.replayed)
}

// answersOfRound is the number of answers to wait for in one of several rounds. MARQUEE_KEYS is
// the number of keys of all; each is sent three times.
func answersOfRound(t *testing.T, random *rand.Rand, rounds int) int {
	if keys := process.Number(t, "MARQUEE_KEYS", 0); keys > 0 {
		return 3 * keys / rounds
	}
	return 20 + random.IntN(150)
}

// TestFailoverOfIdempotency takes the primary from under the program while clients create
// objects. Each request is sent up to three times with its key, and creates exactly one
// object, whatever its answers were.
func TestFailoverOfIdempotency(t *testing.T) {
	process.SkipCoveredBy(t, "'make failover'")
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	rounds = process.Number(t, "MARQUEE_FAILOVERS", rounds)
	random := rand.New(rand.NewPCG(uint64(process.Number(t, "MARQUEE_FAILOVER_SEED", 1)), 4))
	schemas := t.TempDir()
	process.File(t, filepath.Join(schemas, "parcels.json"), parcels)
	set := mongodb.NewReplicaSet(t, failoverMembers)
	p := process.Serve(t, set.URI("marquee"), "--application", "none", "--schemas", schemas, "--request-timeout", "5s")
	p.SignIn("admin", process.Password)
	k := &keyedRequests{created: map[string]string{}, outages: true}
	k.signIn(p)
	for round := range rounds {
		lost := set.Primary()
		k.send(p, answersOfRound(t, random, rounds), func() {
			if round%2 == 0 {
				set.StepDown()
			} else {
				set.Kill(lost)
			}
		})
		k.await(p) // the next primary
		if round%2 == 1 {
			set.Start(lost)
		}
		if t.Failed() {
			return
		}
	}
	k.complete(p)
	k.check(p)
	p.Stop()
	t.Logf("%d elections, %d keys, %d of them sent after an answer of 503, of which the write before it was stored for %d", rounds, len(k.created), k.resent, k.replayed)
}

// parcels is a type whose ids the service generates.
const parcels = `{"$schema": "https://json-schema.org/draft/2020-12/schema",
"x-resource": {"path": "parcels"}, "type": "object", "properties": {"key": {"type": "string"}}}`

// keyedRequests are requests with keys.
type keyedRequests struct {
	mu sync.Mutex
	// created are the ids of the acknowledged objects, by key; doubtful are the keys of
	// requests without an answer.
	created  map[string]string
	doubtful []string
	made     int // keys
	answers  int
	// resent is the number of doubtful requests that were answered later, replayed of those
	// that had been stored.
	resent, replayed int
	// outages reports whether the process goes on when its store is lost: an answer of 503
	// then ends a request, and not the client.
	outages bool
	// second is the token of the user who sends every other key: the service keeps 100,000 of each user.
	second string
}

// signIn makes the second user, and signs them in.
func (k *keyedRequests) signIn(p *process.Process) {
	p.TB.Helper()
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/roles/writer?context=main", `{"name": "Writer", "scope": "NETWORK", "permissions": ["MANAGE_OBJECTS"]}`)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/users/second", fmt.Sprintf(`{"username": "second", "password": %q, "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "writer"}]}]}}`, process.Password))
	first := p.Token
	p.SignIn("second", process.Password)
	k.second, p.Token = p.Token, first
}

// send sends requests until a number of them was answered and loss has taken from the process
// what it needs, or killed it. Those that had no answer before come first.
func (k *keyedRequests) send(p *process.Process, answered int, loss func()) {
	until, enough, lost := k.answers+answered, make(chan struct{}), make(chan struct{})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for {
				key, again := k.next()
				for range 3 { // the last two repeat it although it has been answered
					answers, ok := k.post(p, key, again)
					if !ok && !k.outages {
						return
					}
					if !ok {
						break
					}
					if answers == until {
						close(enough)
					}
				}
				select {
				case <-lost:
					return
				default:
				}
			}
		})
	}
	<-enough
	loss()
	close(lost)
	clients.Wait()
}

// await sends one request until it is answered.
func (k *keyedRequests) await(p *process.Process) {
	key, again := k.next()
	p.Eventually("no write is answered any more", func() bool {
		_, ok := k.post(p, key, again)
		if !ok {
			key, again = k.next()
		}
		return ok
	})
}

// next returns the key of a request without an answer, or a new one.
func (k *keyedRequests) next() (key string, again bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last := len(k.doubtful) - 1; last >= 0 {
		key, k.doubtful = k.doubtful[last], k.doubtful[:last]
		return key, true
	}
	k.made++
	return fmt.Sprintf("key-%d", k.made), false
}

// post sends a request, and judges its answer; ok is false if there is none.
func (k *keyedRequests) post(p *process.Process, key string, again bool) (answers int, ok bool) {
	header := http.Header{"Idempotency-Key": {key}}
	if (key[len(key)-1]-'0')%2 == 1 {
		header.Set("Authorization", "Bearer "+k.second)
	}
	a, err := p.Send(http.MethodPost, "/api/v1/parcels?context=main", header, fmt.Appendf(nil, `{"key": %q}`, key))
	k.mu.Lock()
	defer k.mu.Unlock()
	id, known := k.created[key]
	if err != nil || a.Status == http.StatusServiceUnavailable || k.outages && a.Status == http.StatusConflict { // the one before goes on
		if !known {
			k.doubtful = append(k.doubtful, key)
		}
		return k.answers, false
	}
	k.answers++
	object, _ := a.JSON().(map[string]any)
	results, _ := object["results"].([]any)
	if a.Status != http.StatusOK || len(results) != 1 {
		p.TB.Errorf("%s: %d %s", key, a.Status, a.Body)
		return k.answers, true
	}
	replayed := a.Header.Get("Idempotency-Replayed") != ""
	switch got := fmt.Sprint(results[0].(map[string]any)["id"]); {
	case known && (got != id || !replayed):
		p.TB.Errorf("%s has created %s, and then %s (replayed: %t)", key, id, got, replayed)
	case !known:
		k.created[key] = got
		if again {
			k.resent++
		}
		if replayed {
			k.replayed++
		}
		if replayed && !again {
			p.TB.Errorf("%s: the first request is answered as a repetition", key)
		}
	}
	return k.answers, true
}

// complete sends the requests without an answer again.
func (k *keyedRequests) complete(p *process.Process) {
	for n := len(k.doubtful); n > 0; n-- {
		key, again := k.next()
		if _, ok := k.post(p, key, again); !ok {
			p.TB.Errorf("%s has no answer", key)
		}
	}
}

// check reads all objects: each key has one.
func (k *keyedRequests) check(p *process.Process) {
	p.TB.Helper()
	stored := 0
	for page := 0; ; page++ {
		list, _ := p.Ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/parcels?context=main&pageSize=100&page=%d", page), "").JSON().(map[string]any)
		results, _ := list["results"].([]any)
		for _, result := range results {
			object, _ := result.(map[string]any)
			if key := fmt.Sprint(object["key"]); k.created[key] != object["id"] {
				p.TB.Errorf("%s has created %v besides %s", key, object["id"], k.created[key])
			}
		}
		if stored += len(results); len(results) < 100 {
			break
		}
	}
	if stored != len(k.created) || stored != k.made {
		p.TB.Errorf("%d objects for %d keys, of which %d were acknowledged", stored, k.made, len(k.created))
	}
}
