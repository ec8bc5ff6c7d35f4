// Package listen accepts the connections of an HTTP server: it limits their number, ends TLS
// with certificates that are replaced, and replaces the responses of net/http by problem
// documents. It imports message and store. Begin with Connections.Listen.
package listen

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/message"
)

// Config configures Connections.
type Config struct {
	// Most is the maximum number of open connections, MostOfAddress that of one address;
	// 0 is DefaultConnections and DefaultAddressConnections.
	Most, MostOfAddress int
	// Certificate makes the listeners ones for TLS, with HTTP/2; it returns the certificate
	// for each handshake.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
}

// Listen sets up an HTTP server to serve a handler, and wraps the listener for
// server.Serve. The listener limits open connections, and ends TLS if Config.Certificate is
// set. It replaces the text with which net/http itself rejects some requests (invalid
// escapes in a path, oversized headers) by a problem document. The handler refuses requests
// for which Refused returns an error.
func (cs *Connections) Listen(server *http.Server, l net.Listener, handler http.Handler) net.Listener {
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cs.serve(w, r, handler) })
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		c2, ok := c.(*conn)
		switch {
		case !ok:
		case state == http.StateIdle: // all responses have been sent
			c2.since.Store(time.Now().UnixNano())
			c2.handled.Store(false)
		case state == http.StateActive && c2.multiplexed.Load():
			c2.handled.Store(true)
		}
	}
	listening := &listener{Listener: l, cs: cs, encryption: cs.encryption()}
	if listening.multiplexed != nil {
		serveMultiplexed(server)
	}
	return listening
}

// LimitUnsent bounds what the system keeps of what has been sent on the connection of a request and
// that its client has not received. A write then goes on as the client receives: by itself, the
// system keeps megabytes, and lets a write go on only when a third of them has been received.
func LimitUnsent(r *http.Request, bytes int) {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return
	}
	if buffered, ok := c.raw.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = buffered.SetWriteBuffer(bytes) // it is only slower
	}
}

// serve serves a request of a connection that was accepted by a listener.
func (cs *Connections) serve(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		handler.ServeHTTP(w, r)
		return
	}
	r.TLS = c.state()
	if r.ProtoMajor < 2 {
		c.handled.Store(true)
		handler.ServeHTTP(w, r)
		return
	}
	end, refused := cs.beginStream(c.from)
	if refused != nil {
		// A connection without deadlines does not block.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(RefusalTime))
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), refusalKey{}, refused)))
		return
	}
	defer end()
	handler.ServeHTTP(w, r)
}

// Refused returns the error that a request must be refused with, nil for most requests.
func Refused(r *http.Request) *message.Error {
	refused, _ := r.Context().Value(refusalKey{}).(*message.Error)
	return refused
}

type refusalKey struct{}

type connKey struct{}

type listener struct {
	net.Listener
	cs *Connections
	encryption
	// refusing is the number of rejected connections being answered, refused counts all.
	refusing atomic.Int64
	refused  seldom
}

// Accept implements net.Listener. It must not be called concurrently.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: accepted, raw: accepted, cs: l.cs, from: l.cs.origin(accepted.RemoteAddr())}
		if l.multiplexed != nil {
			c.encrypted = tls.Server(&rawConn{accepted, c}, l.multiplexed)
			c.Conn = c.encrypted
		}
		c.since.Store(time.Now().UnixNano())
		idle, refused := l.cs.add(c)
		if refused != nil {
			l.refuse(accepted, refused)
			continue
		}
		if idle != nil {
			idle.abort()
		}
		return c, nil
	}
}

// conn replaces the responses of net/http to requests that reach no handler.
type conn struct {
	net.Conn
	// raw is the connection beneath TLS, or else the connection; encrypted is nil
	// without TLS.
	raw       net.Conn
	encrypted *tls.Conn
	cs        *Connections
	from      origin
	// handled reports whether a handler has a request; since is when the connection
	// began to wait for one, in nanoseconds.
	handled atomic.Bool
	since   atomic.Int64
	// multiplexed reports whether the connection may use HTTP/2.
	multiplexed atomic.Bool

	stateOnce sync.Once
	tlsState  *tls.ConnectionState
}

// Write implements net.Conn. Until a request reaches the handler, all that the server
// writes is its own error response, in one call.
func (c *conn) Write(b []byte) (int, error) {
	version := []byte("HTTP/1.1 ")
	if c.handled.Load() || !bytes.HasPrefix(b, version) || len(b) < len(version)+3 {
		return c.Conn.Write(b)
	}
	status, err := strconv.Atoi(string(b[len(version) : len(version)+3]))
	if err != nil || status < http.StatusBadRequest {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(c.cs.refusal(status, Addr(c.RemoteAddr().String()).String(), c.encrypted != nil)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite lets the server finish its response before it stops reading.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
