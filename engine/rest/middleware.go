package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/message"
)

const (
	requestIDHeader = "X-Request-Id"
	requestIDKey    = "requestId"
	loggerKey       = "logger"
	unboundKey      = "unbound"
)

// identify gives each request an id: the client's, where it is a plain one.
func (s *Server) identify(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if len(id) == 0 || len(id) > 64 || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		id = engine.NewID()
	}
	c.Set(requestIDKey, id)
	c.Set(loggerKey, s.Log.With(slog.String("requestId", id)))
	c.Writer.Header().Set(requestIDHeader, id)
	c.Writer.Header().Set("X-Content-Type-Options", "nosniff")
}

func requestID(c *gin.Context) string { return c.GetString(requestIDKey) }

func logger(c *gin.Context) *slog.Logger { return c.MustGet(loggerKey).(*slog.Logger) }

// observe logs each request. The query is left out: it may hold a token.
func (s *Server) observe(c *gin.Context) {
	began := time.Now()
	c.Next()
	level := slog.LevelInfo
	if c.Writer.Status() >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	logger(c).LogAttrs(c.Request.Context(), level, "request",
		slog.String("method", c.Request.Method),
		slog.String("path", c.Request.URL.Path),
		slog.Int("status", c.Writer.Status()),
		slog.Int("bytes", max(c.Writer.Size(), 0)),
		slog.Duration("took", time.Since(began)),
	)
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
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	Fail(c, message.InternalError.Error(message.Params{"requestId": requestID(c)}))
}

// bound gives each request its deadline. The context without it stays known.
func (s *Server) bound(c *gin.Context) {
	deadline := s.Deadline
	if route := s.route(strings.Trim(strings.TrimPrefix(c.Request.URL.Path, "/api/v1"), "/")); route != nil && route.Deadline > 0 {
		deadline = route.Deadline
	}
	c.Set(unboundKey, c.Request.Context())
	ctx, cancel := context.WithTimeout(c.Request.Context(), deadline)
	defer cancel()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
}
