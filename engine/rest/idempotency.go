package rest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest/header"
)

// The header of a request that may be repeated (draft-ietf-httpapi-idempotency-key-header),
// and the one of the response to a repetition.
const (
	idempotencyKey      = "Idempotency-Key"
	idempotencyReplayed = "Idempotency-Replayed"
)

// keyedMethods are the methods of requests that can have an idempotency key. Others have the
// same effect when they are repeated, and the header means nothing there.
var keyedMethods = []string{http.MethodPost, http.MethodPut, http.MethodPatch}

// readKey reads the idempotency key of a request for a route, which is refused if the route
// would not obey it.
func (r *Call) readKey(route *Route) error {
	sent, given := header.List(r.c.Request.Header, idempotencyKey)
	if !given || !slices.Contains(keyedMethods, r.c.Request.Method) {
		return nil
	}
	if !route.keyed {
		return engine.KeyUnsupported()
	}
	key, ok := header.Key(sent)
	if !ok {
		return message.HeaderInvalid.Error(message.Params{"header": idempotencyKey, "expected": "1 to 255 visible ASCII characters, which may be quoted"})
	}
	r.key = key
	return nil
}

// identify makes the batch one that may be repeated, if the request has an idempotency key.
// What the body says, under a parent unless that is "", and the conditions belong to the
// request.
func (w *writing) identify(body []byte, parent string) {
	if w.key == "" {
		return
	}
	sent, h := w.c.Request, sha256.New()
	fmt.Fprintf(h, "%q %d %q\n", sent.Method, w.noted.operation, parent)
	for _, condition := range []string{"If-Match", "If-None-Match"} {
		fmt.Fprintf(h, "%q\n", sent.Header.Values(condition))
	}
	h.Write(body)
	w.batch.Idempotency = &engine.Idempotency{Key: w.key, Request: h.Sum(nil)}
}
