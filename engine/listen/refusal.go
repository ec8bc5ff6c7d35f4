package listen

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
)

// refusedRetryAfter is when a client can try again after it exceeded a limit.
const refusedRetryAfter = 5 * time.Second

// OverLimit returns the error for a client that is over a limit.
func OverLimit(reason *message.Definition) *message.Error {
	e := reason.Error(nil)
	e.RetryAfter = refusedRetryAfter
	return e
}

// RefusalTime is how long a client has at most to receive the response before a connection
// is closed. At most maxRefusals connections over a limit get one at once; others are closed
// without.
const (
	RefusalTime = time.Second
	maxRefusals = 256
)

// refuse rejects a connection over a limit: it responds once the client has begun to
// send a request, and closes the connection.
func (l *listener) refuse(c net.Conn, e *message.Error) {
	if n, due := l.refused.count(); due {
		l.cs.log.Warn("connections are refused: --max-connections or --max-connections-per-address is reached",
			slog.Int("refused", n), slog.String("client", l.cs.origin(c.RemoteAddr()).address.String()), slog.String("code", e.Messages[0].Code()))
	}
	if l.refusing.Add(1) > maxRefusals {
		l.refusing.Add(-1)
		_ = c.Close() // it is rejected in any case
		return
	}
	if l.plain != nil {
		c = tls.Server(c, l.plain)
	}
	go func() {
		defer l.refusing.Add(-1)
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(RefusalTime)) // a connection without deadlines ends with its client
		buffer := make([]byte, 512)
		if _, err := c.Read(buffer); err != nil {
			return
		}
		if _, err := c.Write(l.cs.problem(e, store.NewID(), l.plain != nil)); err != nil {
			return
		}
		// Closing the connection while data arrives would discard the response.
		half, ok := c.(interface{ CloseWrite() error })
		for ok := ok && half.CloseWrite() == nil; ok; {
			_, err := c.Read(buffer)
			ok = err == nil
		}
	}()
}

// logEvery is how often rejected connections, and failed handshakes, are logged.
const logEvery = 10 * time.Second

// seldom counts what is not logged each time.
type seldom struct {
	mu     sync.Mutex
	n      int
	logged time.Time
}

// count counts one more, and returns the number since the last time that it was due.
func (s *seldom) count() (n int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if time.Since(s.logged) < logEvery {
		return s.n, false
	}
	n, s.n, s.logged = s.n, 0, time.Now()
	return n, true
}

// refusal logs and returns the response to a request that cannot be parsed.
func (cs *Connections) refusal(status int, client string, overTLS bool) []byte {
	e := message.HeadersTooLarge.Error(nil)
	if status != http.StatusRequestHeaderFieldsTooLarge {
		e, status = message.RequestSyntax.Error(nil), http.StatusBadRequest
	}
	id := store.NewID()
	cs.log.Info("request", slog.String("requestId", id), slog.Int("status", status), slog.String("code", e.Messages[0].Code()), slog.String("client", client))
	return cs.problem(e, id, overTLS)
}
