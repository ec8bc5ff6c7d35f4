package integration

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
)

// procConn is a connection on which a test writes bytes as it likes.
type procConn struct {
	net.Conn
	reader *bufio.Reader
}

func (p *proc) dial() *procConn {
	p.tb.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.tb.Fatal(err)
	}
	p.tb.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(procPatience)); err != nil {
		p.tb.Fatal(err)
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
func (c *procConn) answer(tb testing.TB) *answer {
	tb.Helper()
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	a := &answer{status: response.StatusCode, header: response.Header}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		tb.Fatal(err)
	}
	return a
}

// postHead is the head of a request with a body of a length.
func (p *proc) postHead(path string, length int, more ...string) string {
	lines := append([]string{"POST " + path + " HTTP/1.1", "Host: marquee", "Authorization: Bearer " + p.token,
		"Content-Type: application/json", fmt.Sprintf("Content-Length: %d", length)}, more...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// TestShutdownAnswersRequests: each request whose handler had begun is
// answered, the process ends with 0, and the next one finds all of it.
func TestShutdownAnswersRequests(t *testing.T) { eachStore(t, testShutdownAnswersRequests) }

func testShutdownAnswersRequests(t *testing.T, fresh newStore) {
	store := fresh(t)
	p := procServe(t, store)
	p.signIn("admin", procPassword)
	const n = 20
	body := `{"name": "An advertiser whose body comes in two halves"}`
	var conns []*procConn
	for i := range n {
		c := p.dial()
		c.write(t, p.postHead(fmt.Sprintf("/api/v1/advertisers/half-%d?context=main", i), len(body), "Expect: 100-continue"))
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
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.stderr.await(t, 0, procSays("shutting down"))
	for i, c := range conns {
		c.write(t, body[10:])
		if a := c.answer(t); a == nil || a.status != http.StatusCreated {
			t.Errorf("request %d was answered with %v", i, a)
		}
	}
	p.ends(0)
	if _, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://")); err == nil {
		t.Error("the process has ended, and something listens at its port")
	}
	q := procServe(t, store)
	q.token = p.token
	for i := range n {
		q.ask(http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/advertisers/half-%d?context=main", i), "")
	}
	q.stop()
}

// TestShutdownUnderLoad: a write without an answer has not been stored.
func TestShutdownUnderLoad(t *testing.T) { eachStore(t, testShutdownUnderLoad) }

func testShutdownUnderLoad(t *testing.T, fresh newStore) {
	store := fresh(t)
	p := procServe(t, store)
	p.signIn("admin", procPassword)
	// A connection for each request: one that was idle may be closed under a
	// request that is on its way, and nobody could know whether it was accepted.
	p.client.Transport = &http.Transport{DisableKeepAlives: true}
	var mu sync.Mutex
	answered := map[string]bool{}
	var acks atomic.Int64
	var writers sync.WaitGroup
	reached := make(chan struct{})
	for w := range 8 {
		writers.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("w%d-%d", w, n)
				a, err := p.send(http.MethodPost, "/api/v1/notes/"+id+"?context=main", nil, []byte(`{"text": "A note."}`))
				mu.Lock()
				answered[id] = err == nil
				mu.Unlock()
				if err != nil {
					return
				}
				if a.status != http.StatusCreated {
					t.Errorf("%s: %d %s", id, a.status, a.body)
				}
				if acks.Add(1) == 200 {
					close(reached)
				}
			}
		})
	}
	<-reached
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	writers.Wait()
	p.ends(0)
	q := procServe(t, store)
	q.token = p.token
	for id, done := range answered {
		a, err := q.send(http.MethodGet, "/api/v1/notes/"+id+"?context=main", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if (a.status == http.StatusOK) != done {
			t.Errorf("%s was answered: %v; and now it is %d", id, done, a.status)
		}
	}
	q.stop()
}

// TestShutdownIsNotReady: for the drain delay, /readyz asks load balancers to
// go elsewhere, and requests are still served.
func TestShutdownIsNotReady(t *testing.T) { eachStore(t, testShutdownIsNotReady) }

func testShutdownIsNotReady(t *testing.T, fresh newStore) {
	p := procServe(t, fresh(t), "--drain-delay", "1h")
	p.signIn("admin", procPassword)
	p.ask(http.StatusOK, http.MethodGet, "/readyz", "")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.stderr.await(t, 0, procSays("shutting down"))
	a := p.ask(http.StatusServiceUnavailable, http.MethodGet, "/readyz", "")
	procWants(t, string(a.body), "error.shutting.down")
	if level := p.requestLine(http.MethodGet, "/readyz", nil, "")["level"]; level != "INFO" {
		t.Errorf("that the service is to end is logged as %v", level)
	}
	p.ask(http.StatusOK, http.MethodGet, "/healthz", "")
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/notes/late?context=main", `{"text": "A late note."}`)
	p.kill()

	p = procServe(t, fresh(t), "--drain-delay", "10ms")
	p.stop()

	// Behind a terminal, there is nobody to go elsewhere.
	p = procServe(t, fresh(t), "--drain-delay", "1h")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.ends(0)
}

// TestShutdownHasAnEnd: a request that goes on is not waited for longer than
// the shutdown time, nor after a second signal.
func TestShutdownHasAnEnd(t *testing.T) { eachStore(t, testShutdownHasAnEnd) }

func testShutdownHasAnEnd(t *testing.T, fresh newStore) {
	stuck := func(args ...string) *proc {
		p := procServe(t, fresh(t), args...)
		p.signIn("admin", procPassword)
		c := p.dial()
		c.write(t, p.postHead("/api/v1/notes/stuck?context=main", 20, "Expect: 100-continue"))
		if line, err := c.reader.ReadString('\n'); err != nil {
			t.Fatalf("%q %v", line, err)
		}
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.stderr.await(t, 0, procSays("shutting down"))
		return p
	}
	p := stuck("--shutdown-timeout", "50ms")
	p.ends(1)
	procWants(t, p.stderr.String(), "requests were still in progress")
	p = stuck()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.ends(-1) // by the signal
}
