package listen

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"marquee/engine/message"
)

// listening serves a handler, with problems that have the code of the error and nothing
// else.
func listening(t *testing.T, config Config, handler http.HandlerFunc) (cs *Connections, server *http.Server, address string) {
	t.Helper()
	proxy := func(netip.Addr) bool { return false }
	problem := func(e *message.Error, _ string, _ bool) []byte {
		return fmt.Appendf(nil, "HTTP/1.1 429 \r\nConnection: close\r\n\r\n%s", e.Messages[0].Code())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cs, server = New(config, slog.New(slog.DiscardHandler), proxy, problem), &http.Server{ReadHeaderTimeout: time.Minute}
	go server.Serve(cs.Listen(server, l, handler))
	t.Cleanup(func() { _ = server.Close() })
	return cs, server, l.Addr().String()
}

func TestConnectionsOfAnAddressAreLimited(t *testing.T) {
	cs := New(Config{Most: 10, MostOfAddress: 3}, nil, nil, nil)
	a, b := origin{address: netip.MustParseAddr("192.0.2.1")}, origin{address: netip.MustParseAddr("192.0.2.2")}
	add := func(from origin, handled bool, since int64) *conn {
		t.Helper()
		c := &conn{from: from}
		c.handled.Store(handled)
		c.since.Store(since)
		if idle, refused := cs.add(c); refused != nil || idle != nil {
			t.Fatalf("%v, %v", idle, refused)
		}
		return c
	}
	first, second, third := add(a, false, 3), add(a, false, 2), add(a, true, 1)
	add(b, true, 0)
	fourth := &conn{from: a}
	fourth.handled.Store(true)
	if idle, refused := cs.add(fourth); idle != second || refused != nil {
		t.Errorf("the one that waited longest is not closed: %v", refused)
	}
	first.handled.Store(true)
	if idle, refused := cs.add(&conn{from: a}); idle != nil || refused == nil || !message.RequestsTooMany.Is(refused) || refused.RetryAfter == 0 {
		t.Errorf("%v, %v", idle, refused)
	}
	cs.remove(third)
	cs.remove(third)
	cs.remove(second) // it has been closed
	add(a, true, 4)
	if cs.count != 4 {
		t.Errorf("%d connections are counted", cs.count)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	proxies := netip.MustParsePrefix("2001:db8:1::/48")
	cs := New(Config{Most: 3, MostOfAddress: 2}, nil, func(address netip.Addr) bool {
		return address == netip.MustParseAddr("198.51.100.7") || proxies.Contains(address)
	}, nil)
	proxy := origin{netip.MustParseAddr("198.51.100.7"), true}
	for _, from := range []origin{proxy, proxy, proxy} {
		if _, refused := cs.add(&conn{from: from}); refused != nil {
			t.Fatal(refused)
		}
	}
	other := origin{address: netip.MustParseAddr("192.0.2.1")}
	if _, refused := cs.add(&conn{from: other}); refused == nil || !message.ServerBusy.Is(refused) || refused.RetryAfter == 0 {
		t.Errorf("beyond the limit: %v", refused)
	}
	cs.Most = 5
	for range 2 {
		if _, refused := cs.add(&conn{from: other}); refused != nil {
			t.Fatal(refused)
		}
	}
	third := &conn{from: origin{address: netip.MustParseAddr("192.0.2.2")}}
	if idle, refused := cs.add(third); refused != nil || idle == nil || idle.from != other {
		t.Errorf("the address with the most does not make room: %v, %v", idle, refused)
	}
	for address, want := range map[string]origin{
		"198.51.100.7:1":           proxy,
		"[::ffff:198.51.100.7]:1":  proxy,
		"[2001:db8:1:2::3]:1":      {netip.MustParseAddr("2001:db8:1:2::3"), true},
		"[2001:db8:2:2:3:4:5:6]:1": {netip.MustParseAddr("2001:db8:2:2::"), false},
	} {
		if got := cs.origin(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))); got != want {
			t.Errorf("%s is %v", address, got)
		}
	}
}

// A connection over the limit replaces one that waits for a request, or else is
// rejected with a response.
func TestListenerRefuses(t *testing.T) {
	held, release := make(chan struct{}, 2), make(chan struct{})
	_, _, address := listening(t, Config{MostOfAddress: 2}, func(http.ResponseWriter, *http.Request) {
		held <- struct{}{}
		<-release
	})
	dial := func(text string) net.Conn {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(c, text) // it may have been rejected already
		return c
	}
	const request = "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"
	begun := dial("GET /hold HTTP/1.1\r\nHost:")
	first := dial(request)
	<-held
	second := dial(request) // replaces the one that has only begun
	<-held
	if n, err := begun.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
	a, err := http.ReadResponse(bufio.NewReader(dial(request)), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(a.Body)
	if a.StatusCode != http.StatusTooManyRequests || !a.Close || string(body) != "error.requests.too.many" {
		t.Errorf("%d %v %s", a.StatusCode, a.Header, body)
	}
	close(release)
	for _, c := range []net.Conn{first, second} {
		if a, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || a.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", a, err)
		}
	}
}
