package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine/event"
	"marquee/engine/listen"
	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/trace"
)

// identify sets the id of the request: the client's, if that is short and plain.
func (s *Server) identify(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if len(id) == 0 || len(id) > 64 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		id = store.NewID()
	}
	c.Writer.Header().Set(requestIDHeader, id)
	s.secure(c.Writer.Header(), c.Request.TLS != nil)
	if out := outboxOf(c.Writer); out != nil {
		out.client = s.proxies.Client(c.Request)
		if out.noted.trace = trace.Parse(c.Request.Header[trace.Header]); out.noted.trace.TraceID != "" {
			c.Request = c.Request.WithContext(trace.With(c.Request.Context(), out.noted.trace))
		}
	}
}

// refuseStream rejects a request that the listener has found to be one too many.
func (s *Server) refuseStream(c *gin.Context) {
	if refused := listen.Refused(c.Request); refused != nil {
		s.fail(c, refused)
	}
}

// maxLoggedPath is the maximum number of bytes of a path in the log.
const maxLoggedPath = 1024

// observe logs each request, without the query and without anything in the path
// that could be a token. The route is the pattern of the path, for grouping
// requests.
func (s *Server) observe(c *gin.Context) {
	began, n := time.Now(), notedOf(c.Writer)
	s.Meter.running.Add(1)
	defer func() { s.Meter.end(n, c.Writer.Status(), time.Since(began)) }()
	c.Next()
	level, out := slog.LevelInfo, outboxOf(c.Writer)
	if c.Writer.Status() >= http.StatusInternalServerError && (out == nil || !out.planned) {
		level = slog.LevelError
	}
	if n.repeated {
		level = slog.LevelDebug
	}
	if !s.Log.Enabled(c.Request.Context(), level) {
		return
	}
	path, _ := withoutToken(c.Request.URL.Path)
	if len(path) > maxLoggedPath {
		path = strings.ToValidUTF8(path[:maxLoggedPath], "") + "…"
	}
	attributes := []slog.Attr{
		slog.String("method", c.Request.Method),
		slog.String("path", path),
		slog.Int("status", c.Writer.Status()),
		slog.Int("bytes", max(c.Writer.Size(), 0)),
		slog.Float64("durationMs", milliseconds(time.Since(began))),
		slog.Float64("waitedMs", milliseconds(n.waitedMemory+time.Duration(n.waitedStore.Load()))),
		slog.String("client", clientIP(c)),
	}
	for _, text := range []slog.Attr{slog.String("route", n.route), slog.String("user", n.user), slog.String("token", n.token), slog.String("network", n.network)} {
		if text.Value.String() != "" {
			attributes = append(attributes, text)
		}
	}
	if n.anonymous {
		attributes = append(attributes, slog.Bool("anonymous", true))
	}
	if n.objects > 0 {
		attributes = append(attributes, slog.Int("objects", n.objects))
	}
	if s.Slow > 0 && time.Since(began) >= s.Slow {
		attributes = append(attributes, slog.String("parameters", n.parameters.loggable()))
	}
	if operated(c.Request.Context()) && !reads(c.Request) {
		attributes = append(attributes, event.OperatorCommand.Attr())
	}
	s.logger(c).LogAttrs(c.Request.Context(), level, "request", attributes...)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// recover turns a panic into an internal error.
func (s *Server) recover(c *gin.Context) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			if errors.Is(p, http.ErrAbortHandler) {
				panic(p)
			}
			s.panicked(c, p)
		default:
			s.panicked(c, fmt.Errorf("%v", p))
		}
	}()
	c.Next()
}

func (s *Server) panicked(c *gin.Context, err error) {
	s.logger(c).Error("panic", slog.String("cause", err.Error()), slog.String("stack", string(debug.Stack())))
	if c.Writer.Written() {
		panic(http.ErrAbortHandler) // an incomplete response must not look complete
	}
	s.fail(c, message.InternalError.Error(message.Params{"requestId": requestID(c)}))
}
