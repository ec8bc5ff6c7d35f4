package rest

import (
	"net/http"
	"strconv"
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
