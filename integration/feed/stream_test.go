package feed

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"marquee/integration/service"
)

// stream is a client of text/event-stream.
type stream struct {
	*service.Stream
	t *testing.T
}

// open opens a stream of the changes of main. More are its other parameters.
func open(t *testing.T, s *service.Service, token, more, last string) *stream {
	t.Helper()
	o := unread(t, s, token, more, last)
	if o.Answer.StatusCode == http.StatusOK {
		go o.Receive()
	}
	return o
}

// unread is open without receiving events.
func unread(t *testing.T, s *service.Service, token, more, last string) *stream {
	t.Helper()
	o, err := s.Stream(t.Context(), token, "/api/v1/changes?context=main"+more, last)
	if err != nil {
		t.Fatal(err)
	}
	body := o.Answer.Body // and not the channel, so that a stream without reader takes no memory
	t.Cleanup(func() { _ = body.Close() })
	return &stream{o, t}
}

// next returns the next event with a name, or the end; bookmarks are passed over.
func (o *stream) next(name string) service.Event {
	o.t.Helper()
	over := time.After(soon)
	for {
		select {
		case e := <-o.Events:
			if e.Name == "bookmark" && name != "bookmark" {
				continue
			}
			if e.Name != name {
				o.t.Fatalf("the stream has %v, not %s", e, name)
			}
			return e
		case <-over:
			o.t.Fatalf("the stream has no %s", name)
		}
	}
}

// TestStream follows changes, and continues where a connection ended.
func TestStream(t *testing.T) { service.EachStore(t, testStream) }

func testStream(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	ward := func(text string) {
		c.Send("PUT", "/api/v1/wards/"+text+"?context=main", `{"text": "`+text+`"}`, 201, "")
	}
	o := open(t, c.Service, c.Token, "&type=wards", "")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-store", "Content-Encoding": ""} {
		if got := o.Answer.Header.Get(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	begun := o.next("bookmark")
	ward("a")
	first := o.next("change")
	if !strings.Contains(first.Data, `"id":"a"`) || !strings.Contains(first.Data, `"kind":"created"`) || !strings.Contains(first.Data, first.ID) {
		t.Errorf("the first event is %v", first)
	}
	ward("b")
	o.next("change")
	// The id of an event is a position, for streams and for pages.
	again := open(t, c.Service, c.Token, "&type=wards&after=begin", first.ID)
	if e := again.next("change"); !strings.Contains(e.Data, `"id":"b"`) {
		t.Errorf("after the first comes %v", e)
	}
	c.Send("GET", "/api/v1/changes?context=main&type=wards&after="+first.ID, "", 200, `{"results": [{"id": "b"}]}`)
	c.Send("GET", "/api/v1/changes?context=main&type=wards&after="+begun.ID, "", 200, `{"results": ["<some>", {"id": "a"}, {"id": "b"}]}`)
	// A refusal is an ordinary answer, and says where the position was.
	for place, path := range map[string]string{"Last-Event-ID": "&type=beds&after=begin", "after": "&type=beds&after=" + first.ID} {
		last := first.ID
		if place == "after" {
			last = ""
		}
		refused := open(t, c.Service, c.Token, path, last)
		body, _ := io.ReadAll(refused.Answer.Body)
		if refused.Answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"error.position.invalid"`) || !strings.Contains(string(body), `"parameter":"`+place+`"`) {
			t.Errorf("with other parameters, the answer is %d %s", refused.Answer.StatusCode, body)
		}
	}
}

// TestStreamShowsNothingElse checks that nothing is sent because of changes that the caller does
// not see, and that bookmarks come by the clock.
func TestStreamShowsNothingElse(t *testing.T) { service.EachStore(t, testStreamShowsNothingElse) }

func testStreamShowsNothingElse(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	nora, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	opened := time.Now()
	o := open(t, c.Service, nora, "&type=wards", "")
	o.next("bookmark")
	began := time.Now()
	for i := range 20 {
		c.Send("PUT", fmt.Sprintf("/api/v1/wards/s%d?context=main", i), `{"team": "south"}`, 201, "")
	}
	c.Send("PUT", "/api/v1/wards/n?context=main", `{"team": "north"}`, 201, "")
	select {
	case e := <-o.Events:
		if !strings.Contains(e.Data, `"id":"n"`) && time.Since(began) < 9*time.Second {
			t.Errorf("the stream has %v", e)
		}
	case <-time.After(soon):
		t.Error("the stream has nothing")
	}
	select {
	case e := <-o.Events:
		if after := time.Since(opened); e.Name != "bookmark" || after < 10*time.Second {
			t.Errorf("after %v, the stream has %v", after, e)
		}
	case <-time.After(3 * soon):
		t.Error("the stream has no second bookmark")
	}
}

// TestStreamResets checks that a stream ends with a reset when the caller's rights or the
// schemas change, and that no event has the old form afterwards. TestResetTime judges how soon.
func TestStreamResets(t *testing.T) { service.EachStore(t, testStreamResets) }

func testStreamResets(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	nora, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	o := open(t, c.Service, nora, "&type=wards", "")
	o.next("bookmark")
	c.Send("POST", "/api/v1/teams/south?context=main", `{"users": ["sven", "nora"]}`, 200, "")
	e := o.next("reset")
	if !strings.Contains(e.Data, `{"reason":"RIGHTS_CHANGED"}`) {
		t.Errorf("the reset is %v", e)
	}
	o.next("end")
	o = open(t, c.Service, nora, "&type=wards&include=object", e.ID)
	c.Send("PUT", "/api/v1/wards/a?context=main", `{"text": "a", "team": "south"}`, 201, "")
	if first := o.next("change"); !strings.Contains(first.Data, `"text":"a"`) {
		t.Errorf("after the reset comes %v", first)
	}
	renamed := service.TypeWith("wards", `, "team": "team", "methods": ["GET", "HEAD", "POST", "PUT", "DELETE"]`, `"team": {"x-ref": "teams"}, "label": {"type": "string", "x-was": "text"}`)
	if err := c.Service.Swap(c.Service.Engine, renamed); err != nil {
		t.Fatal(err)
	}
	e = o.next("reset")
	o.next("end")
	c.Send("PUT", "/api/v1/wards/a?context=main", `{"label": "b"}`, 200, "")
	o = open(t, c.Service, nora, "&type=wards", e.ID)
	if next := o.next("change"); !strings.Contains(next.Data, `"/label"`) {
		t.Errorf("after the reload comes %v", next)
	}
	o = open(t, c.Service, c.Token, "&type=wards&after=begin", "")
	for range 2 {
		if e := o.next("change"); strings.Contains(e.Data, `"/text"`) {
			t.Errorf("the old form is shown: %v", e)
		}
	}
}

// TestStreamOfRevoked checks that a stream ends when its token is revoked, with a position.
func TestStreamOfRevoked(t *testing.T) { service.EachStore(t, testStreamOfRevoked) }

func testStreamOfRevoked(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	token := c.Service.APIToken(c.Token, "reader", "administrator")
	o := open(t, c.Service, token, "&type=wards", "")
	o.next("bookmark")
	c.Send("POST", "/api/v1/tokens/reader?context=main", `{"objectState": "INACTIVE"}`, 200, "")
	c.Send("PUT", "/api/v1/wards/a?context=main", `{}`, 201, "")
	if o.next("bookmark").ID == "" {
		t.Error("it ends without a position")
	}
	o.next("end")
	if refused := open(t, c.Service, token, "&type=wards", ""); refused.Answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("then the status is %d", refused.Answer.StatusCode)
	}
}

// TestStreamToken checks that an access token is accepted in the query, as EventSource cannot
// send headers, and an API token is not.
func TestStreamToken(t *testing.T) { service.EachStore(t, testStreamToken) }

func testStreamToken(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	for token, status := range map[string]int{c.Token: 200, c.Service.APIToken(c.Token, "reader", "administrator"): 401} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Service.Server.URL+"/api/v1/changes?context=main&auth_token="+url.QueryEscape(token), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "text/event-stream")
		answer, err := c.Service.Client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("the status is %d, not %d", answer.StatusCode, status)
		}
	}
}

// TestStreamsAreBounded opens as many streams as a caller may have: one more is refused until
// one has ended, and other callers are served.
func TestStreamsAreBounded(t *testing.T) { service.EachStore(t, testStreamsAreBounded) }

func testStreamsAreBounded(t *testing.T, fresh service.NewStore) {
	c := hospital(t, fresh)
	nora, err := c.Service.SignIn("nora")
	if err != nil {
		t.Fatal(err)
	}
	var all []*stream
	for range 100 {
		o := open(t, c.Service, c.Token, "&type=wards", "")
		o.next("bookmark")
		all = append(all, o)
	}
	refused := open(t, c.Service, c.Token, "&type=wards", "")
	body, _ := io.ReadAll(refused.Answer.Body)
	if refused.Answer.StatusCode != http.StatusTooManyRequests || refused.Answer.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "error.requests.too.many") {
		t.Errorf("one more is answered with %d %s", refused.Answer.StatusCode, body)
	}
	c.Send("GET", "/api/v1/changes?context=main&type=wards&after=begin&wait=1", "", 429, "")
	c.Send("GET", "/api/v1/changes?context=main&type=wards&after=begin", "", 200, "")
	open(t, c.Service, nora, "&type=wards", "").next("bookmark")
	if used := c.Service.Marquee.MemoryUsed(); used != 0 {
		t.Errorf("streams that wait hold %d bytes of the budget", used)
	}
	c.Send("PUT", "/api/v1/wards/a?context=main", `{}`, 201, "")
	for _, o := range all {
		o.next("change")
	}
	_ = all[0].Answer.Body.Close()
	streams(c, 100, soon)
	open(t, c.Service, c.Token, "&type=wards", "").next("bookmark")
}

// streams waits until the service has a number of streams.
func streams(c *service.Conversation, want int, most time.Duration) {
	c.Helper()
	for begun := time.Now(); c.Service.Marquee.Stats().Streams != want; {
		if time.Since(begun) > most {
			c.Fatalf("there are %d streams, not %d", c.Service.Marquee.Stats().Streams, want)
		}
		runtime.Gosched()
	}
}
