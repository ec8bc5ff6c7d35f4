package feed

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/integration/mongodb"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestFollowersOfKilledServers follows changes from pages and from streams, which the readers leave
// at random, while the server is killed again and again: no revision of an object is missed, none
// overtakes another, and in the end each reader holds what the list has. MARQUEE_FEED is the number
// of changes.
func TestFollowersOfKilledServers(t *testing.T) {
	service.EachStore(t, func(t *testing.T, fresh service.NewStore) { (&killed{store: fresh(t)}).followed(t) })
}

// TestFollowersOfKilledPrimaries is TestFollowersOfKilledServers on a replica set whose primary is
// killed as well, and whose log of operations no longer has the position of a reader that rests.
func TestFollowersOfKilledPrimaries(t *testing.T) {
	if os.Getenv("MARQUEE_FEED") == "" {
		t.Skip("MARQUEE_FEED is not set: run 'make followers'")
	}
	set := mongodb.NewReplicaSet(t, 3, mongodb.WithOplog(50))
	(&killed{store: set.URI("ads"), set: set}).followed(t)
}

func (k *killed) followed(t *testing.T) {
	const writers, atOnce, rounds = 2, 500, 5
	total := changesOf(t, 50_000)
	k.seed = service.TestSeed(t)
	k.start(t)
	ended := make(chan struct{})
	var reading, writing sync.WaitGroup
	resting := k.follower(t)
	resting.page(0) // where the feed begins
	rests := time.Now()
	all := []*follower{resting}
	for i := range 4 {
		f := k.follower(t)
		all = append(all, f)
		random := rand.New(rand.NewPCG(k.seed, uint64(i)))
		reading.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				if i%2 == 0 {
					f.page(1)
				} else {
					f.stream(1+random.IntN(5*atOnce), ended)
				}
			}
		})
	}
	for round := range rounds {
		for writer := range writers {
			writing.Go(func() {
				for n := range total / atOnce / writers / rounds {
					k.write(t, service.ArrayOf(atOnce, func(i int) string {
						return fmt.Sprintf(`{"id": "w%d-%d", "name": "%d %d"}`, writer, i, round, n)
					}))
				}
			})
		}
		if round < rounds-1 {
			k.kill(t, round, 1+total/atOnce/rounds*round+total/atOnce/rounds/2)
		}
		writing.Wait()
	}
	close(ended)
	reading.Wait()
	if k.set != nil && !k.forgets(t, rests) {
		t.Error("the log of operations still has the position of the reader that rests: MARQUEE_FEED is too small")
	}
	for _, f := range all {
		for f.page(0) {
		}
		f.compare(writers * atOnce)
	}
	k.current().Stop()
}

// killed is a server that is killed and started again on the same store.
type killed struct {
	store string
	set   *mongodb.ReplicaSet // whose primary is killed as well, unless it is nil
	seed  uint64

	mu      sync.Mutex
	p       *process.Process
	written int // requests
	wrote   sync.Cond
}

func (k *killed) start(t *testing.T) {
	p := process.Serve(t, k.store)
	p.SignIn("admin", process.Password)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.p = p
	if k.wrote.L == nil {
		k.wrote.L = &k.mu
	}
}

func (k *killed) current() *process.Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.p
}

// kill kills the server, or the primary in every second round, when some requests have been answered.
func (k *killed) kill(t *testing.T, round, written int) {
	k.mu.Lock()
	for k.written < written {
		k.wrote.Wait()
	}
	p := k.p
	k.mu.Unlock()
	if k.set != nil && round%2 == 0 {
		primary := k.set.Primary()
		k.set.Kill(primary)
		k.set.Start(primary)
		return
	}
	p.Kill()
	k.start(t)
}

// forgets reports whether the log of operations of the primary begins after a time.
func (k *killed) forgets(t *testing.T, at time.Time) bool {
	var first struct{ TS bson.Timestamp }
	oldest := options.FindOne().SetSort(bson.D{{Key: "$natural", Value: 1}}).SetProjection(bson.D{{Key: "ts", Value: 1}})
	err := k.set.Member(k.set.Primary()).Database("local").Collection("oplog.rs").FindOne(t.Context(), bson.D{}, oldest).Decode(&first)
	if err != nil {
		t.Fatal(err)
	}
	return int64(first.TS.T) > at.Unix()
}

// write writes objects, again until it is answered.
func (k *killed) write(t *testing.T, objects string) {
	for over := time.Now().Add(time.Minute); ; {
		a, err := k.current().Send(http.MethodPost, "/api/v1/tiers?context=main", http.Header{"Prefer": {"return=minimal"}}, []byte(objects))
		if err == nil && a.Status == http.StatusOK {
			break
		}
		if time.Now().After(over) {
			t.Errorf("a write has failed for a minute: %v %v", a, err)
			break
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.written++
	k.wrote.Broadcast()
}

// follower keeps the objects of a type by their changes.
type follower struct {
	*testing.T
	k        *killed
	position string
	held     map[string]revised
	events   int
}

func (k *killed) follower(t *testing.T) *follower {
	return &follower{T: t, k: k, position: "begin", held: map[string]revised{}}
}

type revised struct {
	revision int64
	name     string
}

const tiersFeed = "/api/v1/changes?context=main&type=tiers&include=object&limit=1000&after="

// page applies a page of changes, and reports whether more may follow at once.
func (f *follower) page(wait int) bool {
	a, err := f.k.current().Send(http.MethodGet, fmt.Sprint(tiersFeed, url.QueryEscape(f.position), "&wait=", wait), nil, nil)
	if err != nil || a.Status == http.StatusServiceUnavailable {
		return true // the server was killed, or is starting
	}
	var page struct {
		Results  []json.RawMessage
		Position string
		More     bool
	}
	if err := json.Unmarshal(a.Body, &page); err != nil || a.Status != http.StatusOK || page.Position == "" {
		f.Errorf("a page has %d %.300s", a.Status, a.Body)
		return false
	}
	for _, e := range page.Results {
		f.apply(e)
	}
	f.position = page.Position
	return page.More
}

// stream applies the events of a stream until there were some, or it ends.
func (f *follower) stream(some int, ended <-chan struct{}) {
	p := f.k.current()
	o, err := service.OpenStream(f.Context(), p.Client, p.Token, p.URL+tiersFeed+url.QueryEscape(f.position), "")
	if err != nil {
		return // the server was killed
	}
	defer o.Answer.Body.Close()
	if o.Answer.StatusCode != http.StatusOK {
		if o.Answer.StatusCode != http.StatusServiceUnavailable {
			f.Errorf("a stream is answered with %d", o.Answer.StatusCode)
		}
		return
	}
	go o.Receive()
	for range some {
		select {
		case <-ended:
			return
		case e := <-o.Events:
			switch e.Name {
			case "change":
				f.apply([]byte(e.Data))
			case "reset":
				f.Errorf("a reset: %s", e.Data)
			case "end":
				return
			}
			f.position = e.ID
		}
	}
}

func (f *follower) apply(text []byte) {
	var e struct {
		ID, Kind string
		Revision int64
		Object   struct{ Name string }
	}
	if err := json.Unmarshal(text, &e); err != nil {
		f.Error(err)
	}
	f.events++
	before := f.held[e.ID]
	if e.Revision > before.revision+1 {
		f.Errorf("%s: revision %d follows %d", e.ID, e.Revision, before.revision)
	}
	if e.Revision > before.revision {
		f.held[e.ID] = revised{e.Revision, e.Object.Name}
	}
}

// compare expects that the reader holds what the list has.
func (f *follower) compare(objects int) {
	f.Helper()
	n := 0
	for cursor := ""; ; {
		var page struct {
			Results []struct {
				ID, Name string
			}
			NextCursor string
		}
		a := f.k.current().Ask(http.StatusOK, http.MethodGet, "/api/v1/tiers?context=main&pageSize=1000"+cursor, "")
		if err := json.Unmarshal(a.Body, &page); err != nil {
			f.Fatal(err)
		}
		for _, object := range page.Results {
			if n++; f.held[object.ID].name != object.Name {
				f.Errorf("a reader holds %v of %s, and the list has %q", f.held[object.ID], object.ID, object.Name)
			}
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(page.NextCursor)
	}
	if n != objects || len(f.held) != objects {
		f.Errorf("a reader holds %d objects, and the list has %d of %d", len(f.held), n, objects)
	}
	f.Logf("%d events of %d objects", f.events, n)
}
