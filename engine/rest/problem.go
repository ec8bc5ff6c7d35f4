package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine/message"
)

// statuses has the HTTP status of each kind of error.
var statuses = map[message.Kind]int{
	message.Malformed:            http.StatusBadRequest,
	message.Unauthenticated:      http.StatusUnauthorized,
	message.Forbidden:            http.StatusForbidden,
	message.NotFound:             http.StatusNotFound,
	message.MethodNotAllowed:     http.StatusMethodNotAllowed,
	message.TooSlow:              http.StatusRequestTimeout,
	message.Conflict:             http.StatusConflict,
	message.PreconditionFailed:   http.StatusPreconditionFailed,
	message.TooLarge:             http.StatusRequestEntityTooLarge,
	message.HeadersExceeded:      http.StatusRequestHeaderFieldsTooLarge,
	message.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	message.NotSatisfiable:       http.StatusRequestedRangeNotSatisfiable,
	message.Invalid:              http.StatusUnprocessableEntity,
	message.TooManyRequests:      http.StatusTooManyRequests,
	message.Internal:             http.StatusInternalServerError,
	message.Unavailable:          http.StatusServiceUnavailable,
}

// Status returns the HTTP status of a kind of error.
func Status(kind message.Kind) int { return statuses[kind] }

// Kind returns the kind of error that a status represents, message.None for any other
// status.
func Kind(status int) message.Kind {
	for kind, candidate := range statuses {
		if candidate == status {
			return kind
		}
	}
	return message.None
}

// MessagePage returns the path of the page that explains a message, which is the type of
// a problem. Package openapi serves it.
func MessagePage(code string) string { return "/docs/messages/" + code }

// newProblem returns the problem document of an error with messages, in response to a
// request for a path. Its type is the page of the first message that has its status; for
// want of one, of the first message.
func newProblem(e *message.Error, instance string) problem {
	status, decides := Status(e.Kind), e.Messages[0]
	for _, m := range e.Messages {
		if Status(m.Definition().Kind) == status {
			decides = m
			break
		}
	}
	return problem{Type: MessagePage(decides.Code()), Title: http.StatusText(status), Status: status, Detail: e.Error(), Instance: instance, Messages: e.Messages}
}

// problem is a problem document (RFC 9457) with the messages of the specification.
type problem struct {
	Type     string            `json:"type"`
	Title    string            `json:"title"`
	Status   int               `json:"status"`
	Detail   string            `json:"detail"`
	Instance string            `json:"instance"`
	Messages []message.Message `json:"messages"`
}

const problemType = "application/problem+json"

// clientError turns an error into one that a client can see. An unexpected error is
// logged, and the client receives the id of the request.
func (s *Server) clientError(c *gin.Context, err error) *message.Error {
	var e *message.Error
	if errors.As(err, &e) && len(e.Messages) > 0 {
		if cause := errors.Unwrap(e); cause != nil && !errors.Is(c.Request.Context().Err(), context.Canceled) {
			level := slog.LevelWarn
			if notedOf(c.Writer).repeated {
				level = slog.LevelDebug
			}
			s.logger(c).Log(c.Request.Context(), level, "request refused", slog.String("code", e.Messages[0].Code()), slog.String("cause", cause.Error()))
		}
		return e
	}
	if errors.Is(err, context.Canceled) && c.Request.Context().Err() != nil {
		return message.DeadlineExceeded.Error(nil)
	}
	s.logger(c).Error("internal error", slog.String("cause", err.Error()))
	return message.InternalError.Error(message.Params{"requestId": requestID(c)})
}

// fail responds with an error as a problem document.
func (s *Server) fail(c *gin.Context, err error) {
	e := s.clientError(c, err)
	if s.Engine != nil {
		shown := *e
		shown.Messages = make([]message.Message, len(e.Messages))
		for i, m := range e.Messages {
			shown.Messages[i] = s.Engine.Registry().Shown(m)
		}
		e = &shown
	}
	status := Status(e.Kind)
	header := c.Writer.Header()
	for _, name := range []string{"ETag", "Location", "Preference-Applied"} {
		header.Del(name)
	}
	if e.Kind == message.Unauthenticated {
		header.Set("WWW-Authenticate", challenge(e))
	}
	if len(e.Allow) > 0 {
		header.Set("Allow", strings.Join(e.Allow, ", "))
	}
	if e.RetryAfter > 0 {
		header.Set("Retry-After", RetryAfter(e.RetryAfter))
	}
	if out := outboxOf(c.Writer); out != nil {
		out.planned = message.Starting.Is(e) || message.ShuttingDown.Is(e)
	}
	body, err := json.Marshal(newProblem(e, instance(c.Request.URL)))
	if err != nil {
		panic(err)
	}
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", APIPolicy)
	write(c, status, problemType, body)
	c.Abort()
}

// challenge returns the value of WWW-Authenticate (RFC 6750, section 3).
func challenge(e *message.Error) string {
	if message.TokenInvalid.Is(e) {
		return `Bearer realm="marquee", error="invalid_token"`
	}
	return `Bearer realm="marquee"`
}

// write sends a body with its length. The body of a response to HEAD goes no further than
// the outbox, as it decides how a compressed response begins.
func write(c *gin.Context, status int, contentType string, body ...[]byte) {
	size := 0
	for _, part := range body {
		size += len(part)
	}
	header := c.Writer.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(size))
	c.Writer.WriteHeader(status)
	for _, part := range body {
		if _, err := c.Writer.Write(part); err != nil {
			return // the client has disconnected
		}
	}
}

// empty sends a response without a body.
func empty(c *gin.Context, status int) error {
	c.Status(status)
	c.Writer.WriteHeaderNow()
	return nil
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
