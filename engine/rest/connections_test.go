package rest

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

func TestConnectionsOfAnAddressAreLimited(t *testing.T) {
	cs := newConnections(10, 3, &proxies{})
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
	if idle, refused := cs.add(&conn{from: a}); idle != nil || refused == nil || Status(refused.Kind) != http.StatusTooManyRequests || refused.RetryAfter == 0 {
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
	trusted, err := newProxies([]string{"198.51.100.7", "2001:db8:1::/48"}, "")
	if err != nil {
		t.Fatal(err)
	}
	cs := newConnections(3, 2, &trusted)
	proxy := origin{netip.MustParseAddr("198.51.100.7"), true}
	for _, from := range []origin{proxy, proxy, proxy} {
		if _, refused := cs.add(&conn{from: from}); refused != nil {
			t.Fatal(refused)
		}
	}
	other := origin{address: netip.MustParseAddr("192.0.2.1")}
	if _, refused := cs.add(&conn{from: other}); refused == nil || Status(refused.Kind) != http.StatusServiceUnavailable || refused.RetryAfter == 0 {
		t.Errorf("beyond the limit: %v", refused)
	}
	cs.most = 5
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
	hold := Route{Path: "/hold", Methods: []string{http.MethodGet}, Public: true, Serve: func(*Call) error {
		held <- struct{}{}
		<-release
		return nil
	}}
	s, err := New(Config{Log: slog.New(slog.DiscardHandler), Routes: []Route{hold}, AddressConnections: 2})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s)
	server.Listener = s.Listen(server.Config, server.Listener)
	server.Start()
	defer server.Close()
	dial := func(text string) net.Conn {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
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
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" || !a.Close || !strings.Contains(string(body), `"error.requests.too.many"`) {
		t.Errorf("%d %v %s", a.StatusCode, a.Header, body)
	}
	close(release)
	for _, c := range []net.Conn{first, second} {
		if a, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || a.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", a, err)
		}
	}
}
