package rest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"marquee/engine/listen"
	"marquee/engine/spool"
)

// tlsTest has a certificate for 127.0.0.1, and a pool that accepts it.
type tlsTest struct {
	t           *testing.T
	certificate tls.Certificate
	pool        *x509.CertPool
}

func newTLSTest(t *testing.T) *tlsTest {
	known := httptest.NewTLSServer(nil)
	known.Close()
	pool := x509.NewCertPool()
	pool.AddCert(known.Certificate())
	return &tlsTest{t, known.TLS.Certificates[0], pool}
}

func (a *tlsTest) served(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &a.certificate, nil }

func (a *tlsTest) client(protocols ...string) *tls.Config {
	return &tls.Config{RootCAs: a.pool, ServerName: "127.0.0.1", NextProtos: protocols}
}

// listening serves routes over TLS, and returns the address.
func (a *tlsTest) listening(config Config) (address string) {
	t := a.t
	t.Helper()
	config.Connections.Certificate, config.StrictTransport = a.served, time.Hour
	config.Log, config.Spool = slog.New(slog.DiscardHandler), spool.New(t.TempDir(), 1<<20)
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{MaxHeaderBytes: 64 << 10, ReadHeaderTimeout: time.Minute}
	go server.Serve(s.Listen(server, l))
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

func (a *tlsTest) get(address, path string, protocols ...string) *http.Response {
	a.t.Helper()
	transport := &http.Transport{TLSClientConfig: a.client(protocols...), Protocols: &http.Protocols{}}
	transport.Protocols.SetHTTP1(protocols[0] == "http/1.1")
	transport.Protocols.SetHTTP2(protocols[0] == "h2")
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("https://" + address + path)
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response
}

// wantSecure fails unless a response has the headers of every response.
func wantSecure(t *testing.T, header http.Header, overTLS bool) {
	t.Helper()
	for name, want := range securityHeaders {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := header.Get("Strict-Transport-Security"); got != map[bool]string{true: "max-age=3600"}[overTLS] {
		t.Errorf("Strict-Transport-Security is %q", got)
	}
}

func TestTLSWithBothProtocols(t *testing.T) {
	a := newTLSTest(t)
	var secure atomic.Int32
	address := a.listening(Config{Routes: []Route{{Path: "/hello", Methods: []string{http.MethodGet}, Public: true, ContentSecurityPolicy: "script-src 'self'", Serve: func(r *Call) error {
		if r.Request().TLS != nil && r.Request().TLS.HandshakeComplete {
			secure.Add(1)
		}
		r.Answer(http.StatusOK, []byte("{}"))
		return nil
	}}}})
	for i, protocol := range []string{"h2", "http/1.1"} {
		response := a.get(address, "/nothing", protocol)
		if response.StatusCode != http.StatusNotFound || response.ProtoMajor != 2-i {
			t.Errorf("%s: %s %s", protocol, response.Proto, response.Status)
		}
		wantSecure(t, response.Header, true)
		response = a.get(address, "/hello", protocol)
		if got := response.Header.Get("Content-Security-Policy"); response.StatusCode != http.StatusOK || got != "script-src 'self'" {
			t.Errorf("%s: %s, policy %q", protocol, response.Status, got)
		}
		if secure.Load() != int32(i+1) {
			t.Errorf("%s: the handler does not see that the request came over TLS", protocol)
		}
	}
}

// What net/http answers by itself is a problem with all headers, over TLS as without.
func TestTLSRefusals(t *testing.T) {
	a := newTLSTest(t)
	address := a.listening(Config{})
	read := func(c net.Conn) (*http.Response, string) {
		t.Helper()
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		return response, string(body)
	}
	c, err := tls.Dial("tcp", address, a.client("http/1.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n")
	response, body := read(c)
	if response.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"error.request.syntax"`) {
		t.Errorf("%s %s", response.Status, body)
	}
	wantSecure(t, response.Header, true)

	for _, request := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		plain, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		_, _ = io.WriteString(plain, request)
		response, body = read(plain)
		if response.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"error.tls.required"`) {
			t.Errorf("without TLS: %s %s", response.Status, body)
		}
		wantSecure(t, response.Header, false)
	}
}

// Requests on connections with HTTP/2 are limited as connections are, and so are the
// connections that may use it.
func TestStreamsAreLimited(t *testing.T) {
	a := newTLSTest(t)
	held, release := make(chan struct{}, 4), make(chan struct{})
	address := a.listening(Config{Connections: listen.Config{MostOfAddress: 3}, Routes: []Route{{Path: "/hold", Methods: []string{http.MethodGet}, Public: true, Serve: func(r *Call) error {
		held <- struct{}{}
		<-release
		r.Answer(http.StatusOK, []byte("{}"))
		return nil
	}}}})
	transport := &http.Transport{TLSClientConfig: a.client(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client, done := &http.Client{Transport: transport}, make(chan *http.Response, 3)
	get := func() *http.Response {
		response, err := client.Get("https://" + address + "/hold")
		if err != nil {
			t.Error(err)
			return &http.Response{}
		}
		response.Body.Close()
		return response
	}
	for range 3 {
		go func() { done <- get() }()
		<-held
	}
	response := get()
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" || response.ProtoMajor != 2 {
		t.Errorf("beyond the limit: %s %s", response.Proto, response.Status)
	}
	wantSecure(t, response.Header, true)
	// One connection of three may use HTTP/2: the next client gets HTTP/1.1.
	c, err := tls.Dial("tcp", address, a.client("h2", "http/1.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if protocol := c.ConnectionState().NegotiatedProtocol; protocol != "http/1.1" {
		t.Errorf("the second connection uses %s", protocol)
	}
	close(release)
	for range 3 {
		if response := <-done; response.StatusCode != http.StatusOK {
			t.Error(response.Status)
		}
	}
}

// A client that stops sending the body of one request over HTTP/2 gets a response to
// that, and keeps the connection with its other requests.
func TestStoppedBodiesOverHTTP2(t *testing.T) {
	a := newTLSTest(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Log: slog.New(slog.DiscardHandler), Spool: spool.New(t.TempDir(), 1<<20), Connections: listen.Config{Certificate: a.served}, Routes: []Route{
			{Path: "/read", Methods: []string{http.MethodPost}, Public: true, Serve: func(r *Call) error {
				if _, err := r.ReadBody(1 << 20); err != nil {
					return err
				}
				r.Answer(http.StatusOK, []byte("{}"))
				return nil
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		accept, server := make(pipes), &http.Server{}
		go server.Serve(s.Listen(server, accept))
		near, far := net.Pipe()
		accept <- far
		c := tls.Client(near, a.client("h2"))
		//lint:ignore SA1019 the transport of net/http has no connection that is given
		transport := &http2.Transport{}
		//lint:ignore SA1019 see above
		connection, err := transport.NewClientConn(c)
		if err != nil {
			t.Fatal(err)
		}
		stopped, stop := io.Pipe()
		go io.WriteString(stop, "begun")
		request, _ := http.NewRequest(http.MethodPost, "https://127.0.0.1/read", stopped)
		response, err := connection.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusRequestTimeout || response.Header.Get("Connection") != "" {
			t.Errorf("%s %v", response.Status, response.Header)
		}
		_ = response.Body.Close()
		request, _ = http.NewRequest(http.MethodPost, "https://127.0.0.1/read", strings.NewReader("whole"))
		response, err = connection.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("the next request on the connection: %v, %v", response, err)
		}
		_ = connection.Close()
		_ = stop.Close()
		close(accept)
		_ = server.Close()
		synctest.Wait()
	})
}
