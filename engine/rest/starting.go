package rest

import (
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine/message"
)

// startingRetryAfter is when a client can try again while the service starts.
const startingRetryAfter = 5 * time.Second

// Front returns a Server that answers requests before there is an engine: /healthz as
// ever, and anything else with error.starting, which names the step that a function
// returns. From Config, it uses what is said of connections, proxies and logging.
// Forward ends this.
func Front(config Config, step func() string) (*Server, error) {
	s, err := newServer(config)
	if err != nil {
		return nil, err
	}
	r := s.newRouter()
	r.NoRoute(func(c *gin.Context) {
		s.answer(c, func(r *Call) error {
			path := c.Request.URL.Path
			if path == healthPath || path == readyPath {
				r.noted.operation = OperationHealth
			}
			if path == healthPath && slices.Contains(readMethods, c.Request.Method) {
				return s.health(r)
			}
			starting := message.Starting.Error(message.Params{"step": step()})
			starting.RetryAfter = startingRetryAfter
			return starting
		})
	})
	s.handler = r
	return s, nil
}

// Forward lets another handler, such as the Server of an engine, answer requests from
// now on. It may be called while requests are served.
func (s *Server) Forward(to http.Handler) { s.forward.Store(&to) }
