package rest

import "net/http"

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
