package rest

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Listen sets up an HTTP server to serve s, and wraps the listener for server.Serve.
// The listener limits open connections. It replaces the text with which net/http
// itself rejects some requests (invalid escapes in a path, oversized headers) by a
// problem document.
func (s *Server) Listen(server *http.Server, l net.Listener) net.Listener {
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			c.handled.Store(true)
		}
		s.ServeHTTP(w, r)
	})
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ok := c.(*conn); ok && state == http.StateIdle { // the response has been sent
			c.since.Store(time.Now().UnixNano())
			c.handled.Store(false)
		}
	}
	return &listener{Listener: l, s: s}
}

type connKey struct{}

type listener struct {
	net.Listener
	s *Server
	// refusing is how many rejected connections are being answered, refused how
	// many there have been since the last log line.
	refusing atomic.Int64
	refused  int
	logged   time.Time
}

// Accept implements net.Listener. It must not be called concurrently.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: accepted, s: l.s, from: l.s.connections.origin(accepted.RemoteAddr())}
		c.since.Store(time.Now().UnixNano())
		idle, refused := l.s.connections.add(c)
		if refused != nil {
			l.refuse(accepted, refused)
			continue
		}
		if idle != nil {
			_ = idle.Close() // net/http closes it again
		}
		return c, nil
	}
}

// conn replaces the responses of net/http to requests that reach no handler.
type conn struct {
	net.Conn
	s    *Server
	from origin
	// handled says that a handler has a request; since is when the connection began
	// to wait for one, in nanoseconds.
	handled atomic.Bool
	since   atomic.Int64
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.s.connections.remove(c)
	return c.Conn.Close()
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
	client, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	if _, err := c.Conn.Write(c.s.refusal(status, client)); err != nil {
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
