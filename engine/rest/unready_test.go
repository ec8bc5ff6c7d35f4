package rest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"marquee/engine/store"
)

// TestUnreadyIsLoggedOnce: while the reason for a 503 of /readyz lasts, it is logged once a
// minute, and each time that it changes; at level debug, each request is.
func TestUnreadyIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		level := new(slog.LevelVar)
		var cause error
		s, err := New(Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})),
			Ready: func(context.Context) error { return cause }})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(times, lines int) {
			t.Helper()
			log.Reset()
			for range times {
				s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil))
				time.Sleep(time.Second)
			}
			for _, text := range []string{`msg=request `, `msg="request refused" `} {
				if n := strings.Count(log.String(), text); n != lines {
					t.Errorf("%d lines %s instead of %d in\n%s", n, text, lines, &log)
				}
			}
		}
		unavailable := func(detail string) error {
			return &store.Error{Code: store.CodeUnavailable, Text: "the database is away", Cause: errors.New(detail)}
		}
		cause = unavailable("first")
		ask(50, 1)
		cause = unavailable("second")
		ask(50, 1) // a minute has passed
		cause = &store.Error{Code: store.CodeUnavailable, Text: "something else"}
		ask(50, 1)
		level.Set(slog.LevelDebug)
		ask(5, 5)
		level.Set(slog.LevelInfo)
		cause = nil
		ask(0, 0)
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil))
		cause = &store.Error{Code: store.CodeUnavailable, Text: "something else"}
		ask(5, 1)
	})
}
