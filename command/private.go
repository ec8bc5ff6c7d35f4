package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof" // #nosec G108 -- nothing serves the default handler, with which it registers
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"marquee/command/metrics"
)

// Bounds of the private address.
const (
	maxPrivateConnections = 16
	// privateReadTimeout is how long a connection waits for a request, also for the next one.
	privateReadTimeout = 5 * time.Second
	// privateTimeout is that of a response, and bounds the duration of a profile; metricsTimeout
	// is that of the metrics.
	privateTimeout = 2 * time.Minute
	metricsTimeout = 10 * time.Second
	// maxLogTime is the longest time for which PUT /log changes the level of the log, and
	// defaultLogTime the time without the parameter for.
	maxLogTime     = 24 * time.Hour
	defaultLogTime = 10 * time.Minute
)

// listenPrivately listens at --private-addr; without it, the listener is nil.
func (c *serveCommand) listenPrivately() (net.Listener, error) {
	if c.PrivateAddr == "" {
		return nil, nil
	}
	listener, err := listenAt("--private-addr", c.PrivateAddr)
	if err != nil {
		return nil, err
	}
	return netutil.LimitListener(listener, maxPrivateConnections), nil
}

// servePrivately serves what is for operators alone, until the server is closed.
func (c *serveCommand) servePrivately(listener net.Listener, measured *metrics.Metrics, log *slog.Logger) *http.Server {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(metricsTimeout)) // never fails on a connection of net/http
		measured.ServeHTTP(w, r)
	})
	routes.HandleFunc("GET /debug/pprof/", bounded(pprof.Index))
	routes.HandleFunc("GET /debug/pprof/cmdline", http.NotFound) // which may have secrets
	routes.HandleFunc("GET /debug/pprof/profile", bounded(pprof.Profile))
	routes.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	routes.HandleFunc("GET /debug/pprof/trace", bounded(pprof.Trace))
	levels := &logLevel{configured: levelOf(c.LogLevel), level: &c.level, log: log}
	routes.HandleFunc("GET /log", levels.show)
	routes.HandleFunc("PUT /log", levels.change)
	server := &http.Server{Handler: routes, ReadTimeout: privateReadTimeout, WriteTimeout: privateTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	log.Info("serving operators", slog.String("url", "http://"+listener.Addr().String()))
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the private address is no longer served", slog.String("cause", err.Error()))
		}
	}()
	return server
}

// bounded refuses profiles that would take longer than privateTimeout: net/http/pprof extends
// the deadline of a response by the duration of its profile.
func bounded(profile http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if seconds, err := strconv.ParseFloat(r.FormValue("seconds"), 64); err == nil && !(seconds <= privateTimeout.Seconds()) { // NaN, too
			http.Error(w, fmt.Sprintf("seconds must be at most %g", privateTimeout.Seconds()), http.StatusBadRequest)
			return
		}
		profile(w, r)
	}
}

// logLevel changes the level of the log for some time.
type logLevel struct {
	configured slog.Level
	level      *slog.LevelVar
	log        *slog.Logger

	mu sync.Mutex
	// until is the end of the last change, or the zero time.
	until time.Time
}

// parametersOf returns the parameters of a request. It answers one that has others than those that
// are known, or one twice, and ok is false.
func parametersOf(w http.ResponseWriter, r *http.Request, known ...string) (parameters url.Values, ok bool) {
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	ok = err == nil
	for name, values := range parameters {
		ok = ok && slices.Contains(known, name) && len(values) == 1
	}
	if !ok {
		http.Error(w, fmt.Sprintf("%s %s has these parameters, each once: %s", r.Method, r.URL.Path, cmp.Or(strings.Join(known, ", "), "none")), http.StatusBadRequest)
	}
	return parameters, ok
}

// show answers with the level, and when it returns to the configured one.
func (l *logLevel) show(w http.ResponseWriter, r *http.Request) {
	if _, ok := parametersOf(w, r); !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer(w)
}

func (l *logLevel) answer(w http.ResponseWriter) {
	answer := map[string]string{"level": levelName(l.level.Level())}
	if !l.until.IsZero() {
		answer["until"] = l.until.UTC().Format(time.RFC3339)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // an error means that the client is gone
}

// change sets the level that the parameter level names for the time that the parameter for
// names.
func (l *logLevel) change(w http.ResponseWriter, r *http.Request) {
	parameters, ok := parametersOf(w, r, "level", "for")
	if !ok {
		return
	}
	name, during := parameters.Get("level"), defaultLogTime
	if parameters.Has("for") {
		var err error
		if during, err = time.ParseDuration(parameters.Get("for")); err != nil || during <= 0 || during > maxLogTime {
			http.Error(w, fmt.Sprintf("for must be a time of up to %s, such as 10m", maxLogTime), http.StatusBadRequest)
			return
		}
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, name) {
		http.Error(w, "level must be debug, info, warn or error", http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Now().Add(during)
	l.set(levelOf(name), "the level of the log was changed", slog.Duration("for", during))
	time.AfterFunc(during, l.back)
	l.answer(w)
}

// back ends a change, unless the level was changed again.
func (l *logLevel) back() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.until.IsZero() && !time.Now().Before(l.until) {
		l.until = time.Time{}
		l.set(l.configured, "the level of the log is the configured one again")
	}
}

// set sets the level, and logs that, whatever the level was and becomes. Whoever reads the line
// finds the level changed, unless it hides such lines.
func (l *logLevel) set(to slog.Level, text string, more ...any) {
	l.level.Set(min(to, slog.LevelWarn))
	l.log.With(more...).Warn(text, slog.String("to", levelName(to))) // level is the name of that of the line
	l.level.Set(to)
}
