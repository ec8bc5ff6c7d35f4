package rest

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"marquee/engine/message"
	"marquee/engine/spool"
)

func TestBodiesOfACallerAreLimited(t *testing.T) {
	var a tally
	var ends []func()
	count := func(caller string) (n int) {
		for {
			end, ok := a.begin(caller, mayArrive)
			if !ok {
				return n
			}
			ends, n = append(ends, end), n+1
		}
	}
	if first, second, third := count("a"), count("b"), count("c"); first != maxArriving/2 || second != maxArriving/4 || third != maxArriving/8 {
		t.Errorf("callers may send %d, %d and %d", first, second, third)
	}
	for _, end := range ends {
		end()
		end()
	}
	if a.count() != 0 || len(a.of) != 0 {
		t.Errorf("%d, %v are left", a.count(), a.of)
	}
}

// pipes is a listener with connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// served serves routes on connections in memory; dial opens one and sends the
// beginning of a request.
func served(t *testing.T, routes ...Route) (s *Server, dial func(text string) *bufio.Reader) {
	s, err := New(Config{Log: slog.New(slog.DiscardHandler), Routes: routes, Spool: spool.New(t.TempDir(), 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	accept, server := make(pipes), &http.Server{}
	go server.Serve(s.Listen(server, accept))
	t.Cleanup(func() {
		close(accept)
		_ = server.Close()
	})
	return s, func(text string) *bufio.Reader {
		client, service := net.Pipe()
		t.Cleanup(func() { client.Close() })
		accept <- service
		go io.WriteString(client, text)
		return bufio.NewReader(client)
	}
}

// A client that stops sending gets a response after the grace period, even if the
// handler does not read the body, and the connection is closed.
func TestStoppedBodiesAreAnswered(t *testing.T) {
	refuse := Route{Path: "/refuse", Methods: []string{http.MethodPost}, Public: true, Serve: func(*Call) error {
		return message.MethodUnsupported.Error(message.Params{"method": "POST"})
	}}
	read := Route{Path: "/read", Methods: []string{http.MethodPost}, Public: true, Serve: func(r *Call) error {
		_, err := r.ReadBody(1 << 10)
		return err
	}}
	for path, status := range map[string]int{"/refuse": http.StatusMethodNotAllowed, "/read": http.StatusRequestTimeout} {
		t.Run(path[1:], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, dial := served(t, refuse, read)
				began := time.Now()
				response := dial("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
				a, err := http.ReadResponse(response, nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); a.StatusCode != status || !a.Close || took < spool.Grace || took > 2*spool.Grace {
					t.Errorf("%d after %v, %v", a.StatusCode, took, a.Header)
				}
				if _, err := io.Copy(io.Discard, response); err != nil {
					t.Error(err)
				}
				if s.arriving.count() != 0 || s.Spool.Used() != 0 {
					t.Error("something is left")
				}
			})
		})
	}
}

// Bodies beyond the limit of a caller are rejected immediately.
func TestTooManyBodiesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, dial := served(t, Route{Path: "/read", Methods: []string{http.MethodPost}, Public: true, Serve: func(r *Call) error {
			_, err := r.ReadBody(1 << 10)
			return err
		}})
		const request = "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{"
		for range maxArriving / 2 {
			dial(fmt.Sprintf(request, 1000))
		}
		synctest.Wait()
		began := time.Now()
		a, err := http.ReadResponse(dial(fmt.Sprintf(request, 1000)), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(a.Body)
		if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || !strings.Contains(string(body), `"error.requests.too.many"`) || time.Since(began) > time.Second {
			t.Errorf("%d %v after %v: %s", a.StatusCode, a.Header, time.Since(began), body)
		}
		time.Sleep(spool.Grace + time.Second)
		if a, err := http.ReadResponse(dial(fmt.Sprintf(request, 1)), nil); err != nil || a.StatusCode != http.StatusOK {
			t.Errorf("after the others have been given up: %v, %v", a, err)
		}
	})
}
