package feed

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee"
	"marquee/integration/service"
)

// TestStreamOfExpired checks that a stream ends when its access token expires, and when its session
// ends, with a position behind which nothing is missing that was written meanwhile.
func TestStreamOfExpired(t *testing.T) { service.EachStore(t, testStreamOfExpired) }

func testStreamOfExpired(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	writer := c.Service.APIToken(c.Token, "writer", "administrator")
	token, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	position := positionOf(c, token)
	written, seen := 0, map[string]bool{}
	for _, way := range []struct {
		name string
		end  func()
	}{
		{"expired", func() { c.Service.Clock.Advance(time.Hour) }},
		{"revoked", func() {
			c.Service.Must("", http.MethodPost, "/api/authenticate/revoke", `{"token": "`+token+`"}`, http.StatusOK)
		}},
	} {
		o := open(t, c.Service, token, "&type=wards", position)
		ctx, stop := context.WithCancel(t.Context())
		var writing sync.WaitGroup
		writing.Go(func() {
			for ; ctx.Err() == nil; written++ {
				c.Service.Must(writer, http.MethodPut, fmt.Sprintf("/api/v1/wards/w%d?context=main", written), `{"team": "north"}`, http.StatusCreated)
			}
		})
		for range 3 {
			note(o.next("change"), seen)
		}
		way.end()
		last, over := "", time.After(soon)
		for ended := false; !ended; {
			select {
			case e := <-o.Events:
				if ended = e.Name == "end"; !ended {
					note(e, seen)
					last, position = e.Name, e.ID
				}
			case <-over:
				t.Fatalf("%s: the stream does not end", way.name)
			}
		}
		stop()
		writing.Wait()
		if last != "bookmark" {
			t.Errorf("%s: the stream ends with %s", way.name, last)
		}
		if refused := open(t, c.Service, token, "&type=wards", position); refused.Answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: then the status is %d", way.name, refused.Answer.StatusCode)
		}
		if token, err = c.Service.SignIn("nora"); err != nil {
			t.Fatal(err)
		}
		for o = open(t, c.Service, token, "&type=wards", position); len(seen) < written; {
			note(o.next("change"), seen)
		}
	}
}

// note notes the ward of a change.
func note(e service.Event, seen map[string]bool) {
	_, id, _ := strings.Cut(e.Data, `"id":"`)
	if id, _, found := strings.Cut(id, `"`); found && e.Name == "change" {
		seen[id] = true
	}
}

// TestStreamRetry checks that streams which end together are not asked for again at the same time.
func TestStreamRetry(t *testing.T) { service.EachStore(t, testStreamRetry) }

func testStreamRetry(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	different := map[int]bool{}
	for range 20 {
		o := unread(t, c.Service, c.Token, "&type=wards", "")
		line, err := bufio.NewReader(o.Answer.Body).ReadString('\n')
		value, found := strings.CutPrefix(line, "retry: ")
		retry, wrong := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || !found || wrong != nil || retry < 1000 || retry >= 5000 {
			t.Fatalf("a stream begins with %q (%v)", line, err)
		}
		different[retry] = true
		_ = o.Answer.Body.Close()
	}
	if len(different) < 15 {
		t.Errorf("20 streams have %d different times", len(different))
	}
}

// TestStreamsOfAllAreBounded checks that callers together have as many streams, and requests that
// wait, as the server allows, until one of them has ended, in whatever way.
func TestStreamsOfAllAreBounded(t *testing.T) { service.EachStore(t, testStreamsOfAllAreBounded) }

func testStreamsOfAllAreBounded(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	c.Service.Stop()
	c.Service.Configure = func(o *marquee.Options) { o.Streams = 3 }
	c.Service.Start()
	nora, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	token := c.Service.APIToken(c.Token, "reader", "administrator")
	answer := asks(c, c.Service, nora, positionOf(c, nora))
	left := open(t, c.Service, c.Token, "&type=wards", "")
	left.next("bookmark")
	full := func() {
		t.Helper()
		refused := unread(t, c.Service, token, "&type=wards", "").Answer
		if refused.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("one more stream is answered with %d", refused.StatusCode)
		}
		body, _ := io.ReadAll(refused.Body)
		if refused.Header.Get("Retry-After") == "" || !strings.Contains(string(body), `"error.requests.too.many"`) {
			t.Errorf("one more stream is refused with %v %s", refused.Header, body)
		}
		c.Send("GET", "/api/v1/changes?context=main&type=wards&after=begin&wait=1", "", http.StatusTooManyRequests, "")
	}
	revoked := open(t, c.Service, token, "&type=wards", "")
	revoked.next("bookmark")
	full()
	_ = left.Answer.Body.Close()
	streams(c, 2, soon)
	open(t, c.Service, nora, "&type=wards", "").next("bookmark")
	full()
	c.Send("POST", "/api/v1/tokens/reader?context=main", `{"objectState": "INACTIVE"}`, http.StatusOK, "")
	revoked.next("bookmark")
	revoked.next("end")
	streams(c, 2, soon)
	token = c.Token
	open(t, c.Service, c.Token, "&type=wards", "").next("bookmark")
	full()
	c.Send("PUT", "/api/v1/wards/a?context=main", `{"team": "north"}`, http.StatusCreated, "")
	within(c, answer)
	streams(c, 2, soon)
	c.Send("GET", "/api/v1/changes?context=main&type=wards&after=begin&wait=1", "", http.StatusOK, "")
}

// TestServersReset checks that a stream of one server is reset, or ends, when another server has
// changed the rights of its caller, or revoked its token.
func TestServersReset(t *testing.T) {
	t.Parallel()
	service.NeedStore(t, "mongodb")
	servers, _ := service.NewPlainServers(t, 2, hospitalTypes()...)
	c := staffed(service.ConverseWith(t, servers[0]))
	nora, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	token := c.Service.APIToken(c.Token, "reader", "administrator")
	moved, revoked := open(t, servers[1], nora, "&type=wards", ""), open(t, servers[1], token, "&type=wards", "")
	moved.next("bookmark")
	revoked.next("bookmark")
	c.Send("POST", "/api/v1/teams/south?context=main", `{"users": ["sven", "nora"]}`, http.StatusOK, "")
	moved.next("reset")
	c.Send("POST", "/api/v1/tokens/reader?context=main", `{"objectState": "INACTIVE"}`, http.StatusOK, "")
	revoked.next("bookmark")
	revoked.next("end")
}
