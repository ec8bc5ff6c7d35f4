package listen

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
)

// The limits of a connection with HTTP/2, whose requests (streams) are handled at the
// same time. Across connections, requests are limited as connections are: see
// Connections.beginStream.
const (
	maxStreams = 100
	// maxUnreadOfConnection and maxUnreadOfStream are the maximum numbers of bytes of bodies a
	// client may send before they are read.
	maxUnreadOfConnection, maxUnreadOfStream = 512 << 10, 256 << 10
	// A client that receives nothing for stalledTime, or does not answer a ping that
	// is sent after quietTime, is disconnected.
	stalledTime, quietTime = 30 * time.Second, 30 * time.Second
	// multiplexedPart is the part of the connections, in total and of an address,
	// that may use HTTP/2: each can hold the headers of many requests.
	multiplexedPart = 8
)

const (
	http1Protocol = "http/1.1"
	http2Protocol = "h2"
)

// suites are the cipher suites of TLS 1.2 with forward secrecy and authenticated
// encryption, the only ones that HTTP/2 permits (RFC 9113, appendix A).
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// encryption has the settings of TLS: for connections that may use HTTP/2, and for
// those that may not. They are nil without TLS.
type encryption struct{ multiplexed, plain *tls.Config }

// encryption returns the settings of TLS with Config.Certificate.
func (cs *Connections) encryption() encryption {
	if cs.Certificate == nil {
		return encryption{}
	}
	plain := &tls.Config{GetCertificate: cs.Certificate, MinVersion: tls.VersionTLS12, CipherSuites: suites, NextProtos: []string{http1Protocol}}
	multiplexed := plain.Clone()
	multiplexed.NextProtos = []string{http2Protocol, http1Protocol}
	// Beyond the limit, a client that offers both protocols is served with HTTP/1.1.
	multiplexed.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if raw, ok := hello.Conn.(*rawConn); ok && slices.Contains(hello.SupportedProtos, http2Protocol) && cs.multiplex(raw.of) {
			return nil, nil
		}
		return plain, nil
	}
	return encryption{multiplexed, plain}
}

// rawConn is the connection beneath TLS.
type rawConn struct {
	net.Conn
	of *conn
}

// serveMultiplexed sets up an HTTP server for HTTP/2. TLS ends below its connections
// (conn), so that it sees HTTP/2 without TLS.
func serveMultiplexed(server *http.Server) {
	server.Protocols = &http.Protocols{}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	server.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams:          maxStreams,
		MaxReceiveBufferPerConnection: maxUnreadOfConnection,
		MaxReceiveBufferPerStream:     maxUnreadOfStream,
		SendPingTimeout:               quietTime,
		PingTimeout:                   stalledTime,
		WriteByteTimeout:              stalledTime,
	}
}

// Read implements net.Conn. The first Read performs the TLS handshake. If that fails,
// the server sees a client that has gone.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil || c.encrypted == nil || err == io.EOF || c.encrypted.ConnectionState().HandshakeComplete {
		return n, err
	}
	var wait net.Error
	if errors.As(err, &wait) && wait.Timeout() {
		return n, err
	}
	var record tls.RecordHeaderError
	if errors.As(err, &record) && slices.Contains([]string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO"}, string(record.RecordHeader[:])) {
		_, _ = c.raw.Write(c.cs.problem(message.TLSRequired.Error(nil), store.NewID(), false)) // the client has sent no handshake
	} else if n, due := c.cs.handshakes.count(); due {
		c.cs.log.Warn("TLS handshakes failed", slog.Int("failed", n), slog.String("client", c.raw.RemoteAddr().String()), slog.String("cause", err.Error()))
	}
	return n, io.EOF
}

// state returns the state of TLS, nil without it. A request has been received.
func (c *conn) state() *tls.ConnectionState {
	if c.encrypted == nil {
		return nil
	}
	c.stateOnce.Do(func() {
		state := c.encrypted.ConnectionState()
		c.tlsState = &state
	})
	return c.tlsState
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.cs.remove(c)
	return c.Conn.Close()
}

// abort closes the connection without telling the client, for which a TLS connection
// would wait.
func (c *conn) abort() {
	c.cs.remove(c)
	_ = c.raw.Close() // net/http closes it again
}
