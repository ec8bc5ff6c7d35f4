package feed

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/engine/rest"
	"marquee/engine/spool"
	"marquee/integration/service"
)

// largeText is the size of a large event, more or less.
const largeText = 900_000

// large makes wards whose events do not fit into the buffers of a connection together.
func large(c *service.Conversation, n int) {
	c.Helper()
	text := strings.Repeat("x", largeText)
	for i := range n {
		c.Send("PUT", fmt.Sprintf("/api/v1/wards/w%d?context=main", i), `{"team": "north", "text": "`+text+`"}`, 201, "")
	}
}

// rest returns the number of changes that a stream still has, and what comes after them. Bookmarks
// are passed over.
func (o *stream) rest() (changes int, then service.Event) {
	o.t.Helper()
	over := time.After(soon)
	for {
		select {
		case e := <-o.Events:
			switch e.Name {
			case "change":
				changes++
			case "bookmark":
			default:
				return changes, e
			}
		case <-over:
			o.t.Fatalf("the stream does not end after %d changes", changes)
		}
	}
}

// TestStreamThatCatchesUp checks that a stream which has much to send ends when its token is
// revoked, and is reset when the caller's rights change, before it has sent the rest.
func TestStreamThatCatchesUp(t *testing.T) { service.EachStore(t, testStreamThatCatchesUp) }

func testStreamThatCatchesUp(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	nora, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	const wards = 20
	large(c, wards)
	token := c.Service.APIToken(c.Token, "reader", "administrator")
	const from = "&type=wards&after=begin"
	revoked, moved := unread(t, c.Service, token, from, ""), unread(t, c.Service, nora, from, "")
	c.Send("POST", "/api/v1/tokens/reader?context=main", `{"objectState": "INACTIVE"}`, 200, "")
	c.Send("POST", "/api/v1/teams/south?context=main", `{"users": ["sven", "nora"]}`, 200, "")
	go revoked.Receive()
	go moved.Receive()
	if changes, then := revoked.rest(); changes == wards || then.Name != "end" {
		t.Errorf("with a revoked token, there are %d changes and then %s", changes, then.Name)
	}
	if changes, then := moved.rest(); changes == wards || then.Name != "reset" {
		t.Errorf("with other rights, there are %d changes and then %s", changes, then.Name)
	}
}

// TestStreamOverItsRate checks that events count towards the rate limit of a caller, and that a
// stream which waits for it ends when its token is revoked, with a position.
func TestStreamOverItsRate(t *testing.T) { service.EachStore(t, testStreamOverItsRate) }

func testStreamOverItsRate(t *testing.T, fresh service.NewStore) {
	c := service.ConverseWith(t, service.StartNew(&service.Service{TB: t, URI: fresh(t), Plain: &marquee.Application{},
		Schemas: []fs.FS{service.TypeWith("wards", "", `"text": {"type": "string"}`)},
		Configure: func(o *marquee.Options) {
			o.RateLimits = rest.RateLimits{Caller: rest.Rate{Objects: 100, Window: 24 * time.Hour}}
		}}))
	token := c.Service.APIToken(c.Token, "reader", "administrator")
	var wards []string
	for i := range 40 {
		wards = append(wards, fmt.Sprintf(`{"type": "wards", "object": {"id": "w%d"}}`, i))
	}
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [`+strings.Join(wards, ",")+`]}`, 200, "")
	var last *stream
	for range 3 { // of which the last sends more than the limit
		last = open(t, c.Service, token, "&type=wards&after=begin", "")
		for range wards {
			last.next("change")
		}
	}
	last.next("bookmark")
	for begun := time.Now(); c.Service.Marquee.Stats().CallerLimited == 0; runtime.Gosched() {
		if time.Since(begun) > soon {
			t.Fatal("the events do not count")
		}
	}
	c.Send("POST", "/api/v1/tokens/reader?context=main", `{"objectState": "INACTIVE"}`, 200, "")
	if last.next("bookmark").ID == "" {
		t.Error("it ends without a position")
	}
	last.next("end")
}

// TestStalledStreams checks that what clients do not receive takes hardly any memory, and that a
// shutdown does not wait for them.
func TestStalledStreams(t *testing.T) {
	files := spool.New(t.TempDir(), 0)
	c := hospital(t, service.NewSQLite)
	c.Service.Stop()
	c.Service.Configure = func(o *marquee.Options) { o.Spool = files }
	c.Service.Start()
	large(c, 12)
	const clients = 20
	memory := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := memory()
	for range clients {
		unread(t, c.Service, c.Token, "&type=wards&after=begin", "")
	}
	for begun := time.Now(); files.Used() < clients*largeText; runtime.Gosched() {
		if time.Since(begun) > soon {
			t.Fatalf("there are %d bytes in temporary files, and %d more in memory", files.Used(), memory()-before)
		}
	}
	for begun := time.Now(); memory() > before+8<<20; {
		if time.Since(begun) > soon {
			t.Fatalf("the streams take %d bytes of memory", memory()-before)
		}
	}
	if used := c.Service.Marquee.MemoryUsed(); used != 0 {
		t.Errorf("%d bytes of the budget are in use", used)
	}
	begun := time.Now()
	if err := c.Service.Server.Config.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > soon {
		t.Errorf("the shutdown took %v", took)
	}
	if used := files.Used(); used != 0 {
		t.Errorf("%d bytes of temporary files remain", used)
	}
}

// TestStreamIsAskedFor checks that an event stream is sent to those who accept it.
func TestStreamIsAskedFor(t *testing.T) {
	t.Parallel()
	c := hospital(t, service.NewSQLite)
	for accept, want := range map[string]string{
		"text/event-stream;q=0": "application/json", "text/event-stream; q=0.000, application/json": "application/json", "text/event-streams": "application/json",
		"application/json;q=0.5, Text/Event-Stream;q=0.9": "text/event-stream", "text/event-stream": "text/event-stream",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Service.Server.URL+"/api/v1/changes?context=main", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Accept": {accept}, "Authorization": {"Bearer " + c.Token}}
		answer, err := c.Service.Client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := answer.Header.Get("Content-Type"); got != want {
			t.Errorf("to %q, the answer is %s", accept, got)
		}
		_ = answer.Body.Close()
		cancel()
	}
}
