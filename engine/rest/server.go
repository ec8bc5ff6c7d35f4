// Package rest serves an engine over HTTP: it parses requests, limits what they use,
// and renders responses and problem documents. It imports engine, read, budget, document,
// event, header, histogram, listen, message, query, schema, spool, store and trace, and is the only package that imports Gin.
// Begin with Server, Route and Call, and with resolve.go for the paths of types.
package rest

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"
	"github.com/rs/cors"

	"marquee/engine"
	"marquee/engine/budget"
	"marquee/engine/listen"
	"marquee/engine/rest/header"
	"marquee/engine/spool"
)

// Config configures a Server.
type Config struct {
	Engine *engine.Engine
	Auth   Authenticator
	// Log receives a line for each request; nil discards it.
	Log *slog.Logger
	// Slow is the time from which the line of a request has its parameters; 0 means never.
	Slow time.Duration
	// Stored is called with what a write has changed, when it is durable; nil means nothing.
	Stored func(*Call, []*engine.Change)
	// Meter counts the requests; nil means one of its own. A Server and its Front share one.
	Meter *Meter
	// Spool creates the temporary files for bodies and responses that are too large
	// for memory; nil means files in the default folder.
	Spool *spool.Spool
	// Memory is the maximum number of bytes that all requests may use together; 0 means DefaultMemory.
	Memory int64
	// Deadline is how long a request may take; 0 means DefaultDeadline.
	Deadline time.Duration
	// Routes are served besides the paths of types and the server's own.
	Routes []Route
	// Ready returns why load balancers should send requests elsewhere, nil if they
	// need not; a nil Ready is always ready.
	Ready func(ctx context.Context) error
	// Notes returns warnings for operators of a service that is ready. They are
	// public.
	Notes func() map[string]string
	// SchemaSet returns the number of the set of schemas with a digest that is served, 0 for
	// one without a number. Nil always returns 0.
	SchemaSet func(digest string) int64
	// Version is the version of the program, shown by /healthz.
	Version string
	// Connections limits the open connections of the listener of Listen, and ends TLS.
	Connections listen.Config
	// TrustedProxies are the addresses, or CIDR ranges, of the proxies whose
	// ProxyHeader names the client; none by default.
	TrustedProxies []string
	// ProxyHeader is header.XForwardedFor, which is the default, or header.Forwarded. The other one
	// is ignored, because a proxy that does not know it passes on what clients wrote.
	ProxyHeader string
	// StrictTransport is how long browsers shall use the host over TLS alone (RFC
	// 6797), once they have a response over TLS; 0 sends no such header.
	StrictTransport time.Duration
	// CORS are the origins whose scripts may call the service; none by default.
	CORS CORS
	// Streams is the maximum number of calls that stream changes or wait for them; 0 means
	// DefaultStreams.
	Streams int
	// ReceiveTimeout is how long a client may take to receive 16 KiB of a stream of changes, or a
	// line of Call.Lines; 0 means DefaultReceiveTimeout.
	ReceiveTimeout time.Duration
	// RateLimits bound what callers and addresses can use in a time; none by default.
	RateLimits RateLimits
}

// Limits of requests.
const (
	DefaultDeadline       = 30 * time.Second
	DefaultReceiveTimeout = 30 * time.Second
	MaxBodyBytes          = 16 << 20
	// DefaultMemory is the memory budget of all requests.
	DefaultMemory = 256 << 20
	// minCompress is the size from which responses are compressed.
	minCompress = 1024
)

// Server is an http.Handler that serves an engine.
type Server struct {
	Config
	handler http.Handler
	routes  routes
	// outside has the routes outside the API.
	outside []pattern
	// work is the part of Memory for handlers, outboxes the part for responses that
	// are being sent. Anonymous limits what requests without a token have of work together.
	work, outboxes, anonymous *budget.Budget
	proxies                   header.Proxies
	connections               *listen.Connections
	cors                      *cors.Cors // nil for none
	limiters                  limiters
	// arriving counts the bodies that are being sent, and streams the calls that stream or wait.
	arriving, streams tally
	unready           unready
	// ending ends when a listener's server shuts down.
	ending context.Context
	end    func()
	// forward answers requests in place of handler, if it is set.
	forward atomic.Pointer[http.Handler]
}

// New returns a Server. Errors are about routes, trusted proxies, origins and limits.
func New(config Config) (*Server, error) {
	s, err := newServer(config)
	if err != nil {
		return nil, err
	}
	r := s.newRouter()
	r.Use(s.refuseDots)
	if err := s.addRoutes(r); err != nil {
		return nil, err
	}
	r.Any(apiPath+"*path", s.api)
	r.NoRoute(s.otherMethod)
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompress), gzhttp.SuffixETag(header.CompressedSuffixes[0]))
	if err != nil {
		return nil, err
	}
	s.handler = likeGET(wrap, r)
	return s, nil
}

// likeGET compresses the responses to HEAD as those to GET, so that their headers are the
// same (RFC 9110, section 9.3.2): wrap leaves HEAD uncompressed, and therefore sees a GET.
// The outbox, which drops the body, has the request as it was sent.
func likeGET(wrap func(http.Handler) http.HandlerFunc, to http.Handler) http.Handler {
	compressed := wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { to.ServeHTTP(w, outboxOf(w).r) }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			get := *r
			get.Method = http.MethodGet
			r = &get
		}
		compressed.ServeHTTP(w, r)
	})
}

// newServer returns a Server without a handler.
func newServer(config Config) (*Server, error) {
	if config.Deadline == 0 {
		config.Deadline = DefaultDeadline
	}
	if config.ReceiveTimeout == 0 {
		config.ReceiveTimeout = DefaultReceiveTimeout
	}
	if config.Meter == nil {
		config.Meter = NewMeter()
	}
	if config.Spool == nil {
		config.Spool = spool.New("", 0)
	}
	if config.Memory == 0 {
		config.Memory = DefaultMemory
	}
	config.Streams = cmp.Or(config.Streams, DefaultStreams)
	forOutboxes := config.Memory / outboxPart
	s := &Server{Config: config, work: budget.New(config.Memory - forOutboxes), outboxes: budget.New(forOutboxes), anonymous: budget.New((config.Memory - forOutboxes) / anonymousPart)}
	s.ending, s.end = context.WithCancel(context.Background())
	var err error
	if s.proxies, err = header.NewProxies(config.TrustedProxies, config.ProxyHeader); err != nil {
		return nil, err
	}
	if s.cors, err = config.CORS.handler(); err != nil {
		return nil, err
	}
	if s.limiters, err = newLimiters(config.RateLimits); err != nil {
		return nil, err
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	s.connections = listen.New(config.Connections, s.Log, s.proxies.Trusts, s.plainProblem)
	if s.Ready == nil {
		s.Ready = func(context.Context) error { return nil }
	}
	return s, nil
}

// Listen sets up an HTTP server to serve s, and wraps the listener for server.Serve; see
// Config.Connections.
func (s *Server) Listen(server *http.Server, l net.Listener) net.Listener {
	server.RegisterOnShutdown(s.end)
	return s.connections.Listen(server, l, s)
}

// newRouter returns a router without routes.
func (s *Server) newRouter() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath = false, false
	r.HandleMethodNotAllowed = false
	r.ForwardedByClientIP = false // header.Proxies finds the client
	r.Use(s.identify, s.observe, s.recover)
	if s.cors != nil {
		r.Use(s.crossOrigin)
	}
	r.Use(s.refuseStream)
	return r
}

// MemoryUsed returns how much of Config.Memory is in use.
func (s *Server) MemoryUsed() int64 { return s.work.Used() + s.outboxes.Used() }

// Stats are the shared resources of a Server at present.
type Stats struct {
	// Work is the memory budget for handlers, and Outboxes that for responses that are sent.
	Work, Outboxes budget.Stats
	Spool          spool.Stats
	Connections    listen.Stats
	// Streams is the number of calls that stream changes or wait for them, and StreamsLimit the
	// maximum. Following reports whether the changes of the store are being read for them.
	Streams, StreamsLimit int
	Following             bool
	// CallerLimited and AddressLimited are the numbers of requests that the RateLimits refused.
	CallerLimited, AddressLimited int64
}

// Stats returns the state of the shared resources.
func (s *Server) Stats() Stats {
	return Stats{Work: s.work.Stats(), Outboxes: s.outboxes.Stats(), Spool: s.Spool.Stats(), Connections: s.connections.Stats(), Streams: s.streams.count(),
		StreamsLimit: s.Streams, Following: s.Engine != nil && s.Engine.FollowsStore(),
		CallerLimited: s.limiters.caller.refusals(), AddressLimited: s.limiters.address.refusals()}
}
