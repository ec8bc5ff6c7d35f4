package rest

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"

	"marquee/engine"
	"marquee/engine/message"
)

// Authenticator finds the caller that an access token belongs to. Errors are
// of kind Unauthenticated.
type Authenticator interface {
	Caller(ctx context.Context, token string) (*engine.Caller, error)
}

// Config is what a Server is made of.
type Config struct {
	Engine *engine.Engine
	Auth   Authenticator
	Log    *slog.Logger
	// Deadline is how long a request may take; 0 is DefaultDeadline.
	Deadline time.Duration
	// Routes are paths of the API besides those of types.
	Routes []Route
	// Open are paths outside the API that need no token, by what stands before
	// the last slash: below is what stands behind it, unescaped.
	Open map[string]func(r *Call, below string) error
	// Uploads read what a body of multipart/form-data says of objects of a type.
	Uploads map[string]Upload
	// Ready tells why the service is not ready, nil when it is.
	Ready func(ctx context.Context) error
	// Notes are what /readyz tells besides; nil when there is nothing.
	Notes func() map[string]string
}

// Route is a path of the API that a resource answers itself.
type Route struct {
	// Path is what stands behind /api/v1/.
	Path    string
	Methods []string
	Serve   func(*Call) error
	// Deadline is how long a request may take; 0 is that of the others.
	Deadline time.Duration
}

// route is that of a path, nil when it has none.
func (s *Server) route(path string) *Route {
	for i := range s.Routes {
		if s.Routes[i].Path == path {
			return &s.Routes[i]
		}
	}
	return nil
}

// The limits of requests.
const (
	DefaultDeadline = 30 * time.Second
	MaxBodyBytes    = 16 << 20
	// smallBody is how much of a body is read without waiting for a place
	// among the large ones.
	smallBody   = 1 << 20
	largeBodies = 4
	// minCompress is how large an answer is compressed.
	minCompress = 1024
)

// Server is the service over HTTP.
type Server struct {
	Config
	router  *gin.Engine
	handler http.Handler
	large   chan struct{}
}

// New makes a Server. Routes besides those of the engine are added to Router.
func New(config Config) (*Server, error) {
	if config.Deadline == 0 {
		config.Deadline = DefaultDeadline
	}
	gin.SetMode(gin.ReleaseMode)
	s := &Server{Config: config, router: gin.New(), large: make(chan struct{}, largeBodies)}
	r := s.router
	r.RedirectTrailingSlash, r.RedirectFixedPath = false, false
	r.HandleMethodNotAllowed = false
	r.Use(s.identify, s.observe, s.recover, s.bound)
	Fixed(r, "/healthz", []string{http.MethodGet, http.MethodHead}, s.health)
	Fixed(r, "/readyz", []string{http.MethodGet, http.MethodHead}, s.ready)
	for path, serve := range config.Open {
		Fixed(r, path+"/*below", []string{http.MethodGet, http.MethodHead}, s.open(serve))
	}
	r.Any("/api/v1/*path", s.api)
	r.NoRoute(func(c *gin.Context) {
		if strings.HasPrefix(c.Request.URL.Path, "/api/v1/") { // a method that the router has never heard of
			s.api(c)
			return
		}
		Fail(c, message.PathUnknown.Error(nil))
	})
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompress), gzhttp.SuffixETag(compressedSuffixes[0]))
	if err != nil {
		return nil, err
	}
	s.handler = wrap(r)
	return s, nil
}

// compressedSuffixes tell the entity tags of compressed answers from that of
// the plain one (RFC 9110, part 8.8.1).
var compressedSuffixes = []string{"-gzip", "-zstd"}

func (s *Server) open(serve func(*Call, string) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		err := serve(&Call{s: s, c: c}, strings.TrimPrefix(c.Param("below"), "/"))
		if err != nil && c.Writer.Written() {
			logger(c).Error("answer broken off", slog.String("cause", err.Error()))
			panic(http.ErrAbortHandler)
		}
		if err != nil {
			Fail(c, err)
		}
	}
}

// Fixed adds a path outside the API, with or without a trailing slash: what
// answers its methods, OPTIONS, and the refusal of the others.
func Fixed(r gin.IRoutes, path string, methods []string, answer gin.HandlerFunc) {
	e := endpoint{methods: methods}
	options := func(c *gin.Context) {
		c.Header("Allow", strings.Join(e.allow(), ", "))
		c.Status(http.StatusNoContent)
	}
	refuse := func(c *gin.Context) {
		refused := message.MethodUnsupported.Error(message.Params{"method": c.Request.Method})
		refused.Allow = e.allow()
		Fail(c, refused)
	}
	both := []string{path, path + "/"}
	if strings.Contains(path, "*") {
		both = both[:1]
	}
	for _, path := range both {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if slices.Contains(methods, method) {
				r.Handle(method, path, answer)
			} else {
				r.Handle(method, path, refuse)
			}
		}
		r.OPTIONS(path, options)
	}
}

// Router is where other packages add routes.
func (s *Server) Router() gin.IRoutes { return s.router }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) health(c *gin.Context) {
	write(c, http.StatusOK, "application/json", []byte(`{"status":"ok"}`))
}

func (s *Server) ready(c *gin.Context) {
	if err := s.Ready(c.Request.Context()); err != nil {
		e := message.StoreUnavailable.Error(nil).Caused(err)
		if message.ShuttingDown.Is(err) {
			Fail(c, err)
			return
		}
		e.RetryAfter = 5 * time.Second
		Fail(c, e)
		return
	}
	answer := map[string]any{"status": "ready"}
	if s.Notes != nil {
		if notes := s.Notes(); notes != nil {
			answer["notes"] = notes
		}
	}
	c.JSON(http.StatusOK, answer)
}
