package feed

import (
	"context"
	"crypto/tls"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSlowReaders checks that a client which receives nothing of a stream is disconnected, and holds
// none of the memory budget until then, and that one which receives little at a time is not.
func TestSlowReaders(t *testing.T) {
	process.Measures(t)
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			testSlowReaders(t, version)
		})
	}
}

func testSlowReaders(t *testing.T, version string) {
	const timeout, atOnce = 4 * time.Second, 64 << 10
	authority := httptest.NewTLSServer(nil)
	defer authority.Close()
	s := service.StartNew(&service.Service{TB: t, URI: service.NewSQLite(t), Plain: &marquee.Application{},
		Schemas: []fs.FS{service.TypeWith("wards", "", `"text": {"type": "string"}`)},
		Configure: func(o *marquee.Options) {
			o.ReceiveTimeout = timeout
			o.Certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &authority.TLS.Certificates[0], nil }
		}})
	s.Server.URL = strings.Replace(s.Server.URL, "http:", "https:", 1)
	var protocols http.Protocols
	protocols.SetHTTP1(version == "HTTP/1.1")
	protocols.SetHTTP2(version == "HTTP/2.0")
	client := func() {
		transport := &http.Transport{Protocols: &protocols, TLSClientConfig: authority.Client().Transport.(*http.Transport).TLSClientConfig.Clone(),
			HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: atOnce}, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if tcp, ok := connection.(*net.TCPConn); ok {
					err = tcp.SetReadBuffer(atOnce) // so that most of what has been sent is kept by the server
				}
				return connection, err
			}}
		t.Cleanup(transport.CloseIdleConnections)
		s.Client = &http.Client{Transport: transport}
	}
	client()
	c := service.ConverseWith(t, s)
	large(c, 10)
	const all = "&type=wards&after=begin"
	slow := unread(t, s, c.Token, all, "").Answer
	client() // as the streams of a connection of HTTP/2 share its buffers
	idle := unread(t, s, c.Token, all, "").Answer
	began := time.Now()
	streams(c, 2, soon)
	if slow.Proto != version {
		t.Fatalf("the version is %s", slow.Proto)
	}

	received := make(chan error, 1)
	go func() {
		var err error
		for tick := time.NewTicker(timeout / 40); err == nil && time.Since(began) < 3*timeout; <-tick.C {
			_, err = io.CopyN(io.Discard, slow.Body, atOnce/20)
		}
		received <- err
	}()
	streams(c, 1, time.Minute)
	if took := time.Since(began); took < timeout-100*time.Millisecond {
		t.Errorf("a client that receives nothing is disconnected after %v", took)
	}
	// The less the system keeps, the sooner it notices that a slow client receives something.
	if n, err := io.Copy(io.Discard, idle.Body); err == nil || n > 1_000_000 {
		t.Errorf("the client could still read %d bytes (%v)", n, err)
	}
	if err := <-received; err != nil || s.Marquee.Stats().Streams != 1 {
		t.Errorf("a slow client is disconnected after %v: %v", time.Since(began), err)
	}
	if used := s.Marquee.MemoryUsed(); used != 0 {
		t.Errorf("%d bytes of the budget are in use", used)
	}
}
