package password_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"marquee/auth/authtest"
	"marquee/auth/password"
	"marquee/engine/rest"
)

// signInServer serves sign-ins over HTTP with a line of its own, whose only seat is
// occupied until release is called.
func signInServer(t *testing.T, mostOfOrigin int) (address string, waiting func() int, release func()) {
	e, service := authtest.New(t)
	waiting, release = password.OneSeat(t, mostOfOrigin)
	handler, err := rest.New(rest.Config{Engine: e, Auth: service, Log: slog.New(slog.DiscardHandler), Routes: service.Routes()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), waiting, release
}

// signIn sends a sign-in and does not wait for the response.
func signIn(t *testing.T, address, name, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	body := url.Values{"grant_type": {"password"}, "username": {name}, "password": {text}}.Encode()
	if _, err := fmt.Fprintf(c, "POST /api/authenticate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	return c
}

func answered(t *testing.T, c net.Conn) (*http.Response, string) {
	t.Helper()
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(body)
}

// eventually waits until n wait in a line.
func eventually(waiting func() int, n int) {
	for waiting() != n {
		runtime.Gosched()
	}
}

// A client that disconnects leaves the line, and nothing is hashed for it.
func TestSignInEndsWithItsConnection(t *testing.T) {
	address, waiting, release := signInServer(t, 64)
	var gone []net.Conn
	for i := range 20 {
		gone = append(gone, signIn(t, address, fmt.Sprint("nobody ", i), "wrong password"))
	}
	eventually(waiting, 20)
	honest := signIn(t, address, "all-east", "the right word 4")
	eventually(waiting, 21)
	for _, c := range gone {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(waiting, 1)
	before := password.Hashes()
	release()
	if a, body := answered(t, honest); a.StatusCode != http.StatusOK || password.Hashes()-before != 1 {
		t.Errorf("%d after %d hashes: %s", a.StatusCode, password.Hashes()-before, body)
	}
}

// The number of waiting sign-ins of an address is limited; others can try again later.
func TestSignInsOfAnAddressAreBounded(t *testing.T) {
	address, waiting, release := signInServer(t, 3)
	var conns []net.Conn
	for _, name := range []string{"all-east", "boss-east", "reader-east"} {
		conns = append(conns, signIn(t, address, name, "the right word 4"))
	}
	eventually(waiting, 3)
	a, body := answered(t, signIn(t, address, "all-west", "the right word 4"))
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "5" || !strings.Contains(body, `"error":"temporarily_unavailable"`) || !strings.Contains(body, "error.attempts.too.many") {
		t.Errorf("%d, %v: %s", a.StatusCode, a.Header, body)
	}
	release()
	for _, c := range conns {
		if a, body := answered(t, c); a.StatusCode != http.StatusOK {
			t.Errorf("%d: %s", a.StatusCode, body)
		}
	}
}
