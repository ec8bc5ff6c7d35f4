package rest

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
)

// refusedRetryAfter is when a client can try again after it exceeded a limit.
const refusedRetryAfter = 5 * time.Second

func tooManyRequests() *message.Error {
	e := message.RequestsTooMany.Error(nil)
	e.RetryAfter = refusedRetryAfter
	return e
}

func tooManyConnections() *message.Error {
	e := message.ServerBusy.Error(nil)
	e.RetryAfter = refusedRetryAfter
	return e
}

// Connections over a limit get a response for at most refusalTime, and at most
// maxRefusals at once. Others are closed without one.
const (
	refusalTime = time.Second
	maxRefusals = 256
)

// refuse rejects a connection over a limit: it responds once the client has begun to
// send a request, and closes the connection.
func (l *listener) refuse(c net.Conn, e *message.Error) {
	l.logRefused(c, e)
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
		_ = c.SetDeadline(time.Now().Add(refusalTime)) // a connection without deadlines ends with its client
		buffer := make([]byte, 512)
		if _, err := c.Read(buffer); err != nil {
			return
		}
		if _, err := c.Write(l.s.plainProblem(e, store.NewID(), l.plain != nil)); err != nil {
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

// logRefusedEvery is how often rejected connections are logged.
const logRefusedEvery = 10 * time.Second

func (l *listener) logRefused(c net.Conn, e *message.Error) {
	l.refused++
	if time.Since(l.logged) < logRefusedEvery {
		return
	}
	l.s.Log.Warn("connections are refused: --max-connections or --max-connections-per-address is reached",
		slog.Int("refused", l.refused), slog.String("client", l.s.connections.origin(c.RemoteAddr()).address.String()), slog.String("code", e.Messages[0].Code()))
	l.refused, l.logged = 0, time.Now()
}

// refusal logs and returns the response to a request that cannot be parsed.
func (s *Server) refusal(status int, client string, overTLS bool) []byte {
	e := message.RequestSyntax.Error(nil)
	if status == http.StatusRequestHeaderFieldsTooLarge {
		e = message.HeadersTooLarge.Error(nil)
	}
	id := store.NewID()
	s.Log.Info("request", slog.String("requestId", id), slog.Int("status", Status(e.Kind)), slog.String("code", e.Messages[0].Code()), slog.String("client", client))
	return s.plainProblem(e, id, overTLS)
}

// plainProblem returns a complete response with an error, after which the connection
// is closed.
func (s *Server) plainProblem(e *message.Error, id string, overTLS bool) []byte {
	status := Status(e.Kind)
	body, err := json.Marshal(newProblem(e, "/"))
	if err != nil {
		panic(err)
	}
	header := http.Header{}
	s.secure(header, overTLS)
	for name, value := range map[string]string{
		"Date": time.Now().UTC().Format(http.TimeFormat), "Content-Type": problemType, "Content-Length": strconv.Itoa(len(body)),
		"Cache-Control": "no-store", "Connection": "close", requestIDHeader: id,
	} {
		header.Set(name, value)
	}
	if e.RetryAfter > 0 {
		header.Set("Retry-After", RetryAfter(e.RetryAfter))
	}
	var response bytes.Buffer
	fmt.Fprintf(&response, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	_ = header.Write(&response) // a buffer has no errors
	response.WriteString("\r\n")
	response.Write(body)
	return response.Bytes()
}

// RetryAfter returns the value of Retry-After, in whole seconds: a client that waits
// as long is not too early.
func RetryAfter(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
