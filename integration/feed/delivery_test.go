package feed

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestDelivery measures the time from a write to the event of a stream, beside writers, on the server
// that writes, on another one of the same database, and, for comparison, to the event of a change
// stream of MongoDB. MARQUEE_DELIVERY is the stores, which must be new. A write is committed between
// its time and its answer; MongoDB says when, in milliseconds.
func TestDelivery(t *testing.T) {
	if os.Getenv("MARQUEE_DELIVERY") == "" {
		t.Skip("MARQUEE_DELIVERY is not set: see docs/contributing/benchmarks.md")
	}
	for _, store := range strings.Split(os.Getenv("MARQUEE_DELIVERY"), " ") {
		d := deliveries{written: map[string]time.Time{}, times: map[string]time.Time{}, commits: map[string]time.Time{}, seen: map[string]map[string]time.Time{}, complete: make(chan struct{}, 4)}
		p := process.Serve(t, strings.ReplaceAll(store, "DIR", t.TempDir()))
		p.SignIn("admin", process.Password)
		d.follow(t, "this server", p.URL, p.Token)
		if !strings.HasPrefix(store, "sqlite:") {
			d.follow(t, "another server", process.Serve(t, store).URL, p.Token)
			d.watch(t, "a change stream of MongoDB", store)
		}
		var writers sync.WaitGroup
		began := time.Now()
		for writer := range deliveryWriters {
			writers.Go(func() {
				for n := range deliveryWrites {
					id := fmt.Sprintf("w%d-%d", writer, n)
					p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tiers/"+id+"?context=main", `{"name": "T"}`)
					d.note(d.written, id)
				}
			})
		}
		writers.Wait()
		t.Logf("%s: the writes took %v", store, time.Since(began))
		for range 1 + len(d.seen) {
			select {
			case <-d.complete:
			case <-time.After(service.Patience):
				t.Fatalf("%s: some events are missing", store)
			}
		}
		d.mu.Lock()
		for name, at := range d.seen {
			for since, from := range map[string]map[string]time.Time{"time of the change": d.times, "commit": d.commits, "answer": d.written} {
				var took []time.Duration
				for id, began := range from {
					took = append(took, at[id].Sub(began))
				}
				if slices.Sort(took); len(took) > 0 {
					t.Logf("%s, %s: of %d writes, the event came after the %s by %v at the median, %v at 99 %%", store, name, len(took), since, took[len(took)/2], took[len(took)*99/100])
				}
			}
		}
		d.mu.Unlock()
	}
}

const deliveryWriters, deliveryWrites = 64, 30

// deliveries are when writes were answered, the times that their changes have, when MongoDB committed
// them, and when followers got their events.
type deliveries struct {
	mu             sync.Mutex
	written        map[string]time.Time
	times, commits map[string]time.Time
	seen           map[string]map[string]time.Time
	complete       chan struct{} // has an item for the writers, and for each follower, when they have all
}

func (d *deliveries) note(at map[string]time.Time, id string) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if at[id] = now; len(at) == deliveryWriters*deliveryWrites {
		d.complete <- struct{}{}
	}
}

func (d *deliveries) follower(name string) map[string]time.Time {
	at := map[string]time.Time{}
	d.seen[name] = at
	return at
}

// follow follows the stream of a server.
func (d *deliveries) follow(t *testing.T, name, server, token string) {
	o, err := service.OpenStream(t.Context(), http.DefaultClient, token, server+"/api/v1/changes?context=main&type=tiers&include=none", "")
	if err != nil || o.Answer.StatusCode != http.StatusOK {
		t.Fatal(o, err)
	}
	t.Cleanup(func() { o.Answer.Body.Close() })
	at := d.follower(name)
	go func() {
		for lines := bufio.NewScanner(o.Answer.Body); lines.Scan(); {
			if _, id, found := strings.Cut(lines.Text(), `"id":"`); found {
				id, _, _ = strings.Cut(id, `"`)
				d.note(at, id)
				_, text, _ := strings.Cut(lines.Text(), `"time":"`)
				text, _, _ = strings.Cut(text, `"`)
				made, _ := time.Parse(time.RFC3339, text)
				d.set(d.times, id, made)
			}
		}
	}()
}

func (d *deliveries) set(at map[string]time.Time, id string, to time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at[id] = to
}

// watch follows a change stream with MongoDB's driver.
func (d *deliveries) watch(t *testing.T, name, uri string) {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	at, ctx := d.follower(name), t.Context()
	location, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	inserted := mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "insert"}, {Key: "fullDocument.collection", Value: "tiers"}}}}}
	stream, err := client.Database(strings.Trim(location.Path, "/")).Collection("marquee.changes").Watch(ctx, inserted)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for stream.Next(ctx) {
			id, _ := stream.Current.Lookup("fullDocument", "object").StringValueOK()
			d.note(at, id)
			if committed, known := stream.Current.Lookup("wallTime").TimeOK(); known { // since MongoDB 6.0
				d.set(d.commits, id, committed)
			}
		}
	}()
}
