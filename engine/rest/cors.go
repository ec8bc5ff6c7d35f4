package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/rs/cors"

	"marquee/engine/trace"
)

// CORS are the pages of other origins whose scripts may call the service (the Fetch
// standard, section 3.2). The zero value allows none.
type CORS struct {
	// Origins are allowed exactly as they are, such as https://app.example.com.
	Origins []string
	// Credentials lets browsers send cookies and client certificates, which the
	// service does not use, but a proxy in front of it may.
	Credentials bool
}

// preflightAge is how long a browser may remember the answer to a preflight request.
const preflightAge = 10 * time.Minute

// The headers that scripts of other origins may send, and read.
var (
	corsRequestHeaders = []string{"Accept-Language", "Authorization", "Content-Encoding", "Content-Type", "If-Match", "If-Modified-Since",
		"If-None-Match", "If-Range", "If-Unmodified-Since", idempotencyKey, "Last-Event-ID", "Prefer", "Range", trace.Header, requestIDHeader}
	corsResponseHeaders = []string{"Accept-Encoding", "Accept-Patch", "Accept-Ranges", "Allow", "Content-Disposition", "Content-Range", "Deprecation", "ETag", idempotencyReplayed, "Link", "Location", positionHeader, schemasHeader, "Preference-Applied",
		rateLimitHeader, rateLimitPolicyHeader, "Retry-After", "Warning", "WWW-Authenticate", requestIDHeader}
)

const preflightHeaders = "Access-Control-Request-Headers"

// allowedHeaders are those of the headers in a preflight request that scripts may send, as
// browsers write them: for an unknown one, the library would allow none.
func allowedHeaders(lines []string) string {
	var allowed []string
	for name := range strings.SplitSeq(strings.ToLower(strings.Join(lines, ",")), ",") {
		name = strings.Trim(name, " \t")
		if slices.ContainsFunc(corsRequestHeaders, func(known string) bool { return strings.EqualFold(known, name) }) {
			allowed = append(allowed, name)
		}
	}
	slices.Sort(allowed)
	return strings.Join(slices.Compact(allowed), ",")
}

// handler returns what adds the headers of CORS, nil if no origin is allowed.
func (c CORS) handler() (*cors.Cors, error) {
	if len(c.Origins) == 0 {
		return nil, nil
	}
	allowed := map[string]bool{}
	for _, origin := range c.Origins {
		if err := checkOrigin(origin); err != nil {
			return nil, err
		}
		allowed[origin] = true
	}
	return cors.New(cors.Options{
		// The library compares origins without regard to case, and allows wildcards.
		AllowOriginVaryRequestFunc: func(r *http.Request, origin string) (bool, []string) {
			return allowed[origin] && len(r.Header.Values("Origin")) == 1, nil
		},
		AllowedMethods:   []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders:   corsRequestHeaders,
		ExposedHeaders:   corsResponseHeaders,
		AllowCredentials: c.Credentials,
		MaxAge:           int(preflightAge.Seconds()),
	}), nil
}

// Check returns an error for an origin that no browser would send.
func (c CORS) Check() error {
	_, err := c.handler()
	return err
}

// checkOrigin accepts an origin as browsers serialise it: in lower case, and without
// a default port (RFC 6454, section 6.2).
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Contains(origin, "*"):
		return fmt.Errorf("%q is not an origin such as https://app.example.com", origin)
	case u.Scheme == "https" && u.Port() == "443", u.Scheme == "http" && u.Port() == "80", strings.HasSuffix(u.Host, ":"):
		return fmt.Errorf("%q names the default port: browsers leave it out", origin)
	case u.Scheme+"://"+u.Host != origin || strings.ToLower(origin) != origin || strings.Trim(u.Host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") != "":
		return fmt.Errorf("%q must be a scheme, a host and a port if it is not the default, in lower case and ASCII, without a slash at the end", origin)
	}
	return nil
}

// crossOrigin adds the headers of CORS, and answers preflight requests, for every
// path: which paths there are is no concern of browsers.
func (s *Server) crossOrigin(c *gin.Context) {
	if lines := c.Request.Header.Values(preflightHeaders); len(lines) > 0 {
		c.Request.Header.Set(preflightHeaders, allowedHeaders(lines))
	}
	s.cors.HandlerFunc(c.Writer, c.Request)
	if c.Request.Method == http.MethodOptions && c.GetHeader("Access-Control-Request-Method") != "" {
		c.Writer.WriteHeaderNow()
		c.Abort()
	}
}
