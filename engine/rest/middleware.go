package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine/message"
	"marquee/engine/store"
)

const (
	requestIDHeader = "X-Request-Id"
	requestIDKey    = "requestId"
	loggerKey       = "logger"
	routeKey        = "route"
	userKey         = "user"
	clientKey       = "client"
)

// identify sets the id of the request: the client's, if that is short and plain.
func (s *Server) identify(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if len(id) == 0 || len(id) > 64 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		id = store.NewID()
	}
	c.Set(requestIDKey, id)
	c.Set(loggerKey, s.Log.With(slog.String("requestId", id)))
	c.Writer.Header().Set(requestIDHeader, id)
	s.secure(c.Writer.Header(), c.Request.TLS != nil)
	c.Set(clientKey, s.proxies.client(c.Request))
}

// clientAddr returns the address of the client, as trusted proxies report it.
func clientAddr(c *gin.Context) netip.Addr {
	value, _ := c.Get(clientKey)
	address, _ := value.(netip.Addr)
	return address
}

// clientIP is clientAddr as a text, "" for none.
func clientIP(c *gin.Context) string {
	if address := clientAddr(c); address.IsValid() {
		return address.String()
	}
	return ""
}

// refuseStream rejects a request that the listener has found to be one too many.
func refuseStream(c *gin.Context) {
	if refused, ok := c.Request.Context().Value(refusalKey{}).(*message.Error); ok {
		fail(c, refused)
	}
}

func requestID(c *gin.Context) string { return c.GetString(requestIDKey) }

func logger(c *gin.Context) *slog.Logger { return c.MustGet(loggerKey).(*slog.Logger) }

// maxLoggedPath is how many bytes of a path are logged.
const maxLoggedPath = 1024

// observe logs each request, without the query and without anything in the path
// that could be a token. The route is the pattern of the path, by which requests can
// be grouped.
func (s *Server) observe(c *gin.Context) {
	began := time.Now()
	path, _ := withoutToken(c.Request.URL.Path)
	if len(path) > maxLoggedPath {
		path = strings.ToValidUTF8(path[:maxLoggedPath], "") + "…"
	}
	c.Next()
	level := slog.LevelInfo
	if c.Writer.Status() >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	attributes := []slog.Attr{
		slog.String("method", c.Request.Method),
		slog.String("path", path),
		slog.Int("status", c.Writer.Status()),
		slog.Int("bytes", max(c.Writer.Size(), 0)),
		slog.Float64("durationMs", float64(time.Since(began).Microseconds())/1000),
		slog.String("client", clientIP(c)),
	}
	if route := c.GetString(routeKey); route != "" {
		attributes = append(attributes, slog.String("route", route))
	}
	if user := c.GetString(userKey); user != "" {
		attributes = append(attributes, slog.String("user", user))
	}
	logger(c).LogAttrs(c.Request.Context(), level, "request", attributes...)
}

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
	logger(c).Error("panic", slog.String("cause", err.Error()), slog.String("stack", string(debug.Stack())))
	if c.Writer.Written() {
		panic(http.ErrAbortHandler) // an incomplete response must not look complete
	}
	fail(c, message.InternalError.Error(message.Params{"requestId": requestID(c)}))
}
