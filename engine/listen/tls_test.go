package listen

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Without TLS there is no HTTP/2: neither by prior knowledge nor by an upgrade.
func TestNoHTTP2WithoutTLS(t *testing.T) {
	_, _, address := listening(t, Config{}, func(http.ResponseWriter, *http.Request) {})
	for _, request := range []string{http2.ClientPreface, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"} {
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

// A client that opens streams and resets them at once (CVE-2023-44487) never has more
// than maxStreams handlers, and leaves nothing counted.
func TestRapidReset(t *testing.T) {
	var running, most atomic.Int32
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &known.TLS.Certificates[0], nil }
	cs, server, address := listening(t, Config{Certificate: certificate}, func(_ http.ResponseWriter, r *http.Request) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		<-r.Context().Done()
	})
	authorities := x509.NewCertPool()
	authorities.AddCert(known.Certificate())
	c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: authorities, ServerName: "127.0.0.1", NextProtos: []string{http2Protocol}})
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
	for cs.tallied() > 0 || running.Load() > 0 {
		time.Sleep(time.Millisecond) // until all handlers have ended
	}
	if most.Load() == 0 || most.Load() > maxStreams {
		t.Errorf("%d handlers ran at once", most.Load())
	}
}

// tallied is the number of connections and streams that are counted.
func (cs *Connections) tallied() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.count + cs.multiplexed.total + cs.streams.total
}
