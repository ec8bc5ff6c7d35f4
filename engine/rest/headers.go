package rest

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// APIPolicy is the Content-Security-Policy of every response whose route has no other:
// nothing in it is loaded, run or framed, even if a browser takes it for a page.
const APIPolicy = "default-src 'none'; frame-ancestors 'none'"

// securityHeaders are the headers of every response. Routes can replace those that
// they serve pages or files with; see Route.ContentSecurityPolicy.
var securityHeaders = map[string]string{
	"X-Content-Type-Options":       "nosniff",
	"Content-Security-Policy":      APIPolicy,
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// schemasHeader holds the digest of the set of schemas that is served (Registry.Digest).
const schemasHeader = "Marquee-Schemas"

// nameSchemas sets the header of the schemas in responses of the API, of the operator, and
// to the readiness check. Other responses, such as delivered files, do not depend on the
// schemas and may be cached for longer.
func (s *Server) nameSchemas(header http.Header, path string) {
	if s.Engine != nil && (path == readyPath || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/operator/")) {
		header.Set(schemasHeader, s.Engine.Registry().Digest())
	}
}

// SchemaSet returns the number of the set of schemas with a digest that is served, 0 for one
// without a number.
func (r *Call) SchemaSet(digest string) int64 {
	if r.s.SchemaSet == nil {
		return 0
	}
	return r.s.SchemaSet(digest)
}

// secure sets the headers of every response. Strict-Transport-Security is for
// responses over TLS alone (RFC 6797, section 7.2).
func (s *Server) secure(header http.Header, overTLS bool) {
	for name, value := range securityHeaders {
		header.Set(name, value)
	}
	if seconds := int64(s.StrictTransport.Seconds()); overTLS && seconds > 0 {
		header.Set("Strict-Transport-Security", "max-age="+strconv.FormatInt(seconds, 10))
	}
}

const requestIDHeader = "X-Request-Id"

func requestID(c *gin.Context) string { return c.Writer.Header().Get(requestIDHeader) }

// logger returns a logger that adds the id of the request, and that of its trace, to each line.
func (s *Server) logger(c *gin.Context) *slog.Logger {
	log := s.Log.With(slog.String("requestId", requestID(c)))
	if id := notedOf(c.Writer).trace.TraceID; id != "" {
		log = log.With(slog.String("traceId", id))
	}
	return log
}

// WarnDropped adds a Warning header for each unknown property that was dropped. Listed
// responses have several objects.
func WarnDropped(header http.Header, listed bool, unknown []engine.Unknown) {
	for _, one := range unknown {
		text := "unknown property " + one.Path + " of " + one.Type + " was dropped"
		if listed {
			text += fmt.Sprintf(" (object %d)", one.Index)
		}
		header.Add("Warning", warning(text))
	}
}

// warnFollowing adds a Warning header for each type of which more objects will change.
func (r *Call) warnFollowing(types []string) {
	for _, name := range types {
		warn(r.Header(), r.s.Engine.Registry().Shown(message.WarningDependantsFollow.With(message.Params{"type": name})))
	}
}

// Deprecate sets the headers of a response to a request that names a type by a former path, as
// the segment of its URL behind base: since when the present one is served (RFC 9745), and the
// URL with that (RFC 5829).
func (r *Call) Deprecate(t *schema.Type, base string) {
	r.deprecated(t)
	path := base + t.Served().Name
	if _, below, found := strings.Cut(strings.TrimPrefix(r.c.Request.URL.EscapedPath(), base), "/"); found {
		path += "/" + below
	}
	if link := "<" + path + `>; rel="successor-version"`; len(link) <= maxLink {
		r.Header().Add("Link", link)
	}
}

// maxSuccessors is the maximum number of links of a response to present paths of types.
const maxSuccessors = 8

// deprecateNamed is Deprecate for a request that names a type in a parameter or its body. The
// links of its response say whose successor each one is, as there may be several.
func (r *Call) deprecateNamed(t *schema.Type, name string) {
	present := t.Served().Name
	if name == present {
		return
	}
	r.deprecated(t)
	link := fmt.Sprintf(`<%s%s>; rel="successor-version"; anchor="%s%s"`, apiPath, present, apiPath, name)
	if links := r.Header()["Link"]; len(links) < maxSuccessors && !slices.Contains(links, link) {
		r.Header().Add("Link", link)
	}
}

// deprecated sets the Deprecation header, to the earliest time if there are several.
func (r *Call) deprecated(t *schema.Type) {
	if since := r.s.Engine.PathSince(t); !since.IsZero() {
		at := "@" + strconv.FormatInt(since.Unix(), 10)
		if other := r.Header().Get("Deprecation"); other == "" || at < other { // both have 10 digits
			r.Header().Set("Deprecation", at)
		}
	}
}

// warn adds a Warning header.
func warn(header http.Header, m message.Message) {
	header.Add("Warning", warning(m.Code()+": "+m.String()))
}

// warning returns the value of a Warning header (code 299, persistent). All but
// printable ASCII is percent-encoded.
func warning(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
		if b.Len() > 200 {
			b.WriteString("...")
			break
		}
	}
	return `299 marquee "` + b.String() + `"`
}
