package feed

import (
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"marquee/integration/service"
)

// asks sends a request for changes, and returns when the request waits. The channel gets its answer.
func asks(c *service.Conversation, of *service.Service, token, after string) <-chan *service.Answer {
	answer := make(chan *service.Answer, 1)
	go func() {
		answer <- of.Ask(token, http.MethodGet, "/api/v1/changes?context=main&type=wards&wait=25&after="+url.QueryEscape(after), "", nil)
	}()
	for begun := time.Now(); ; runtime.Gosched() {
		// A request that waits has given its share of the memory budget back.
		if stats := of.Marquee.Stats(); stats.Streams == 1 && stats.Work.Used == 0 {
			return answer
		}
		if time.Since(begun) > soon {
			c.Fatal("the request does not wait")
		}
	}
}

// positionOf returns a position that has no changes behind it: on MongoDB, the changes behind the
// one that the feed begins with can repeat the last ones before it.
func positionOf(c *service.Conversation, token string) string {
	const feed = "/api/v1/changes?context=main&type=wards"
	page := c.Service.Must(token, http.MethodGet, feed, "", http.StatusOK)
	for {
		position, _ := page["position"].(string)
		page = c.Service.Must(token, http.MethodGet, feed+"&after="+url.QueryEscape(position), "", http.StatusOK)
		if results, _ := page["results"].([]any); len(results) == 0 {
			return position
		}
	}
}

// soon is much less than requests wait for.
const soon = 10 * time.Second

func within(c *service.Conversation, answer <-chan *service.Answer) *service.Answer {
	c.Helper()
	select {
	case a := <-answer:
		return a
	case <-time.After(soon):
		c.Fatal("the request still waits")
		return nil
	}
}

// TestWait checks that requests which wait are answered when there is a change.
func TestWait(t *testing.T) { service.EachStore(t, testWait) }

func testWait(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	for range 5 {
		answer := asks(c, c.Service, c.Token, positionOf(c, c.Token))
		c.Send("POST", "/api/v1/wards?context=main", `{"text": "new"}`, http.StatusOK, "")
		if a := within(c, answer); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"kind":"created"`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	// A request that is answered without a change is one whose time is over.
	began := time.Now()
	c.Send("GET", "/api/v1/changes?context=main&type=wards&id=none&wait=1&after=begin", "", http.StatusOK, `{"results": [], "more": "<absent>"}`)
	if waited := time.Since(began); waited < time.Second {
		t.Errorf("it has waited for %v", waited)
	}
}

// TestServersWait checks that a request to one server is answered when another has written.
func TestServersWait(t *testing.T) {
	t.Parallel()
	service.NeedStore(t, "mongodb")
	servers, token := service.NewServers(t, 2, service.TypeWith("wards", "", `"text": {"type": "string"}`))
	c := service.ConverseWith(t, servers[0])
	for range 5 {
		answer := asks(c, servers[1], token, positionOf(c, token))
		c.Send("POST", "/api/v1/wards?context=main", `{"text": "new"}`, http.StatusOK, "")
		if a := within(c, answer); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"kind":"created"`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
}

// TestWaitOfRevoked checks that a token which is revoked while a request waits is shown no
// change.
func TestWaitOfRevoked(t *testing.T) { service.EachStore(t, testWaitOfRevoked) }

func testWaitOfRevoked(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	token := c.Service.APIToken(c.Token, "reader", "administrator")
	answer := asks(c, c.Service, token, positionOf(c, token))
	c.Send("POST", "/api/v1/tokens/reader?context=main", `{"objectState": "INACTIVE"}`, http.StatusOK, "")
	c.Send("POST", "/api/v1/wards?context=main", `{"text": "new"}`, http.StatusOK, "")
	if a := within(c, answer); a.Status != http.StatusUnauthorized {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestWaitOfWithdrawn checks that a caller whose rights change while a request waits is told
// to read again.
func TestWaitOfWithdrawn(t *testing.T) { service.EachStore(t, testWaitOfWithdrawn) }

func testWaitOfWithdrawn(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	nora, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	answer := asks(c, c.Service, nora, positionOf(c, nora))
	c.Send("POST", "/api/v1/teams/south?context=main", `{"users": ["sven", "nora"]}`, http.StatusOK, "")
	if a := within(c, answer); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"reset":"RIGHTS_CHANGED"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// TestWaitOfEnding checks that a server which shuts down answers requests that wait at once, also
// those that come later.
func TestWaitOfEnding(t *testing.T) { service.EachStore(t, testWaitOfEnding) }

func testWaitOfEnding(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	position := positionOf(c, c.Token)
	answer := asks(c, c.Service, c.Token, position)
	c.Service.Marquee.Drain()
	if a := within(c, answer); a.Status != http.StatusOK {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	began := time.Now()
	c.Send("GET", "/api/v1/changes?context=main&type=wards&wait=25&after="+url.QueryEscape(position), "", http.StatusOK, `{"results": [], "more": "<absent>"}`)
	if waited := time.Since(began); waited > soon {
		t.Errorf("it has waited for %v", waited)
	}
}
