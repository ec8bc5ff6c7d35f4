package rest

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"marquee/engine/spool"
)

// authority issues the certificates of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &authority{t, cert, key, pool}
}

// issue returns the PEM files of a certificate for 127.0.0.1.
func (a *authority) issue(serial int64, until time.Time) (cert, key []byte) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// certificate returns a Certificate and the paths of its files.
func (a *authority) certificate(serial int64) (c *Certificate, certFile, keyFile string) {
	a.t.Helper()
	certFile, keyFile = filepath.Join(a.t.TempDir(), "cert.pem"), filepath.Join(a.t.TempDir(), "key.pem")
	cert, key := a.issue(serial, time.Now().Add(24*time.Hour))
	a.write(certFile, cert)
	a.write(keyFile, key)
	c, err := LoadCertificate(certFile, keyFile)
	if err != nil {
		a.t.Fatal(err)
	}
	return c, certFile, keyFile
}

func (a *authority) write(path string, content []byte) {
	a.t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) client(protocols ...string) *tls.Config {
	return &tls.Config{RootCAs: a.pool, ServerName: "127.0.0.1", NextProtos: protocols}
}

// listening serves routes over TLS, and returns the address.
func (a *authority) listening(config Config) (address string) {
	a.t.Helper()
	certificate, _, _ := a.certificate(2)
	config.Certificate, config.StrictTransport = certificate.Get, time.Hour
	return listening(a.t, config)
}

func listening(t *testing.T, config Config) (address string) {
	t.Helper()
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

func (a *authority) get(address, path string, protocols ...string) *http.Response {
	a.t.Helper()
	transport := &http.Transport{TLSClientConfig: a.client(protocols...), Protocols: &http.Protocols{}}
	transport.Protocols.SetHTTP1(protocols[0] == http1Protocol)
	transport.Protocols.SetHTTP2(protocols[0] == http2Protocol)
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
	a := newAuthority(t)
	var secure atomic.Int32
	address := a.listening(Config{Routes: []Route{{Path: "/hello", Methods: []string{http.MethodGet}, Public: true, ContentSecurityPolicy: "script-src 'self'", Serve: func(r *Call) error {
		if r.Request().TLS != nil && r.Request().TLS.HandshakeComplete {
			secure.Add(1)
		}
		r.Answer(http.StatusOK, []byte("{}"))
		return nil
	}}}})
	for i, protocol := range []string{http2Protocol, http1Protocol} {
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
	a := newAuthority(t)
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
	c, err := tls.Dial("tcp", address, a.client(http1Protocol))
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

// Without TLS there is no HTTP/2: neither by prior knowledge nor by an upgrade.
func TestNoHTTP2WithoutTLS(t *testing.T) {
	address := listening(t, Config{})
	for _, request := range []string{http2.ClientPreface, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, request)
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || response.ProtoMajor != 1 || response.StatusCode == http.StatusSwitchingProtocols {
			t.Errorf("%v, %v", response, err)
		}
	}
}

// Requests on connections with HTTP/2 are limited as connections are, and so are the
// connections that may use it.
func TestStreamsAreLimited(t *testing.T) {
	a := newAuthority(t)
	held, release := make(chan struct{}, 4), make(chan struct{})
	address := a.listening(Config{AddressConnections: 3, Routes: []Route{{Path: "/hold", Methods: []string{http.MethodGet}, Public: true, Serve: func(r *Call) error {
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
	c, err := tls.Dial("tcp", address, a.client(http2Protocol, http1Protocol))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if protocol := c.ConnectionState().NegotiatedProtocol; protocol != http1Protocol {
		t.Errorf("the second connection uses %s", protocol)
	}
	close(release)
	for range 3 {
		if response := <-done; response.StatusCode != http.StatusOK {
			t.Error(response.Status)
		}
	}
}

// A client that opens streams and resets them at once (CVE-2023-44487) never has more
// than maxStreams handlers, and leaves nothing counted.
func TestRapidReset(t *testing.T) {
	a := newAuthority(t)
	var running, most atomic.Int32
	certificate, _, _ := a.certificate(2)
	s, err := New(Config{Log: slog.New(slog.DiscardHandler), Spool: spool.New(t.TempDir(), 1<<20), Certificate: certificate.Get, Routes: []Route{{Path: "/busy", Methods: []string{http.MethodGet}, Public: true, Serve: func(r *Call) error {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		<-r.Context().Done()
		return nil
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{}
	go server.Serve(s.Listen(server, l))
	c, err := tls.Dial("tcp", l.Addr().String(), a.client(http2Protocol))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	go io.Copy(io.Discard, c)
	_, _ = io.WriteString(c, http2.ClientPreface)
	framer := http2.NewFramer(c, c)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	err = framer.WriteSettings()
	for id := uint32(1); id < 200_000 && err == nil; id += 2 {
		block.Reset()
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/busy"}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		if err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}); err == nil {
			err = framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}
	c.Close() // by the client, if the server kept up with the requests
	_ = server.Close()
	for s.connections.tallied() > 0 || running.Load() > 0 {
		time.Sleep(time.Millisecond) // until all handlers have ended
	}
	if most.Load() == 0 || most.Load() > maxStreams {
		t.Errorf("%d handlers ran at once", most.Load())
	}
}

// tallied is the number of connections and streams that are counted.
func (cs *connections) tallied() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.count + cs.multiplexed.total + cs.streams.total
}

// A client that stops sending the body of one request over HTTP/2 gets a response to
// that, and keeps the connection with its other requests.
func TestStoppedBodiesOverHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		certificate, _, _ := a.certificate(2)
		s, err := New(Config{Log: slog.New(slog.DiscardHandler), Spool: spool.New(t.TempDir(), 1<<20), Certificate: certificate.Get, Routes: []Route{
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
		c := tls.Client(near, a.client(http2Protocol))
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

func TestCertificateIsReplaced(t *testing.T) {
	a := newAuthority(t)
	c, certFile, keyFile := a.certificate(10)
	served := func() int64 { return c.served.Load().Leaf.SerialNumber.Int64() }
	var log bytes.Buffer
	ticks, ended := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(ended)
		c.Follow(t.Context(), ticks, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	// The second of two ticks is received when the first has been worked on, the third
	// when the second has.
	look := func() {
		for range 3 {
			ticks <- time.Time{}
		}
	}
	cert, key := a.issue(11, time.Now().Add(24*time.Hour))
	a.write(certFile, cert)
	look()
	if served() != 10 {
		t.Error("a certificate is served without its key")
	}
	if !strings.Contains(log.String(), "previous one remains in use") {
		t.Errorf("log: %s", log.String())
	}
	a.write(keyFile, key)
	look()
	if served() != 11 {
		t.Error("the new pair is not served")
	}
	// The chain is cut off within the certificate of the issuer.
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	next, nextKey := a.issue(12, time.Now().Add(24*time.Hour))
	a.write(keyFile, nextKey)
	a.write(certFile, append(bytes.Clone(next), chain[:len(chain)/2]...))
	look()
	if served() != 11 {
		t.Error("a chain that is cut off is served")
	}
	a.write(certFile, append(next, chain...))
	look()
	if served() != 12 || len(c.served.Load().Certificate) != 2 {
		t.Error("the chain is not served")
	}
	for name, change := range map[string]func(){
		"expired": func() {
			cert, key := a.issue(13, time.Now().Add(-time.Hour))
			a.write(certFile, cert)
			a.write(keyFile, key)
		},
		"empty": func() { a.write(certFile, nil) },
		"gone":  func() { _ = os.Remove(certFile) },
		"large": func() { a.write(certFile, make([]byte, maxPEMBytes+1)) },
	} {
		change()
		look()
		if served() != 12 {
			t.Errorf("%s: %d is served", name, served())
		}
	}
}
