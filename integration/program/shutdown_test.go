package program

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// procConn is a connection on which a test writes bytes as it likes.
type procConn struct {
	net.Conn
	reader *bufio.Reader
}

func dial(p *process.Process) *procConn {
	p.TB.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		p.TB.Fatal(err)
	}
	p.TB.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(service.Patience)); err != nil {
		p.TB.Fatal(err)
	}
	return &procConn{c, bufio.NewReader(c)}
}

func (c *procConn) write(tb testing.TB, text string) {
	tb.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		tb.Fatal(err)
	}
}

// answer reads an answer, nil when the connection ends without one.
func (c *procConn) answer(tb testing.TB) *service.Answer {
	tb.Helper()
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	a := &service.Answer{Status: response.StatusCode, Header: response.Header}
	if a.Body, err = io.ReadAll(response.Body); err != nil {
		tb.Fatal(err)
	}
	return a
}

// postHead is the head of a request with a body of a length.
func postHead(p *process.Process, path string, length int, more ...string) string {
	lines := append([]string{"POST " + path + " HTTP/1.1", "Host: marquee", "Authorization: Bearer " + p.Token,
		"Content-Type: application/json", fmt.Sprintf("Content-Length: %d", length)}, more...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// TestShutdownAnswersRequests: each request whose handler had begun is
// answered, the process ends with 0, and the next one finds all of it.
func TestShutdownAnswersRequests(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testShutdownAnswersRequests)
}

func testShutdownAnswersRequests(t *testing.T, fresh service.NewStore) {
	store := fresh(t)
	p := process.Serve(t, store)
	p.SignIn("admin", process.Password)
	const n = 20
	body := `{"name": "An advertiser whose body comes in two halves"}`
	var conns []*procConn
	for i := range n {
		c := dial(p)
		c.write(t, postHead(p, fmt.Sprintf("/api/v1/advertisers/half-%d?context=main", i), len(body), "Expect: 100-continue"))
		// The service asks for the body when its handler reads it.
		if line, err := c.reader.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("%q %v", line, err)
		}
		if _, err := c.reader.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		c.write(t, body[:10])
		conns = append(conns, c)
	}
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.Stderr.Await(t, 0, service.Says("shutting down"))
	for i, c := range conns {
		c.write(t, body[10:])
		if a := c.answer(t); a == nil || a.Status != http.StatusCreated {
			t.Errorf("request %d was answered with %v", i, a)
		}
	}
	p.Ends(0)
	if _, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://")); err == nil {
		t.Error("the process has ended, and something listens at its port")
	}
	q := process.Serve(t, store)
	q.Token = p.Token
	for i := range n {
		q.Ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/advertisers/half-%d?context=main", i), "")
	}
	q.Stop()
}

// TestShutdownUnderLoad: a write without an answer has not been stored.
func TestShutdownUnderLoad(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testShutdownUnderLoad)
}

func testShutdownUnderLoad(t *testing.T, fresh service.NewStore) {
	store := fresh(t)
	p := process.Serve(t, store)
	p.SignIn("admin", process.Password)
	// A connection for each request: one that was idle may be closed under a
	// request that is on its way, and nobody could know whether it was accepted.
	p.Client.Transport = &http.Transport{DisableKeepAlives: true}
	var mu sync.Mutex
	answered := map[string]bool{}
	var acks atomic.Int64
	var writers sync.WaitGroup
	reached := make(chan struct{})
	for w := range 8 {
		writers.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("w%d-%d", w, n)
				a, err := p.Send(http.MethodPost, "/api/v1/notes/"+id+"?context=main", nil, []byte(`{"text": "A note."}`))
				mu.Lock()
				answered[id] = err == nil
				mu.Unlock()
				if err != nil {
					return
				}
				if a.Status != http.StatusCreated {
					t.Errorf("%s: %d %s", id, a.Status, a.Body)
				}
				if acks.Add(1) == 200 {
					close(reached)
				}
			}
		})
	}
	<-reached
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	writers.Wait()
	p.Ends(0)
	q := process.Serve(t, store)
	q.Token = p.Token
	for id, done := range answered {
		a, err := q.Send(http.MethodGet, "/api/v1/notes/"+id+"?context=main", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (a.Status == http.StatusOK) != done {
			t.Errorf("%s was answered: %v; and now it is %d", id, done, a.Status)
		}
	}
	q.Stop()
}

// TestShutdownIsNotReady: for the drain delay, /readyz asks load balancers to
// go elsewhere, and requests are still served.
func TestShutdownIsNotReady(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testShutdownIsNotReady)
}

func testShutdownIsNotReady(t *testing.T, fresh service.NewStore) {
	p := process.Serve(t, fresh(t), "--drain-delay", "1h")
	p.SignIn("admin", process.Password)
	p.Ask(http.StatusOK, http.MethodGet, "/readyz", "")
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.Stderr.Await(t, 0, service.Says("shutting down"))
	a := p.Ask(http.StatusServiceUnavailable, http.MethodGet, "/readyz", "")
	process.Wants(t, string(a.Body), "error.shutting.down")
	if level := p.RequestLine(http.MethodGet, "/readyz", nil, "")["level"]; level != "INFO" {
		t.Errorf("that the service is to end is logged as %v", level)
	}
	p.Ask(http.StatusOK, http.MethodGet, "/healthz", "")
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/late?context=main", `{"text": "A late note."}`)
	p.Kill()

	p = process.Serve(t, fresh(t), "--drain-delay", "10ms")
	p.Stop()

	// Behind a terminal, there is nobody to go elsewhere.
	p = process.Serve(t, fresh(t), "--drain-delay", "1h")
	if err := p.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.Ends(0)
}

// TestShutdownHasAnEnd: a request that goes on is not waited for longer than
// the shutdown time, nor after a second signal.
func TestShutdownHasAnEnd(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testShutdownHasAnEnd)
}

func testShutdownHasAnEnd(t *testing.T, fresh service.NewStore) {
	stuck := func(args ...string) *process.Process {
		p := process.Serve(t, fresh(t), args...)
		p.SignIn("admin", process.Password)
		c := dial(p)
		c.write(t, postHead(p, "/api/v1/notes/stuck?context=main", 20, "Expect: 100-continue"))
		if line, err := c.reader.ReadString('\n'); err != nil {
			t.Fatalf("%q %v", line, err)
		}
		if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.Stderr.Await(t, 0, service.Says("shutting down"))
		return p
	}
	p := stuck("--shutdown-timeout", "50ms")
	p.Ends(1)
	process.Wants(t, p.Stderr.String(), "requests were still in progress")
	p = stuck()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.Ends(-1) // by the signal
}
