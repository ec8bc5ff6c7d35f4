package rest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/budget"
	"marquee/engine/listen"
	"marquee/engine/schema"
	"marquee/engine/spool"
	"marquee/engine/store"
)

// Call is a request that a route serves. It must not be used after Route.Serve has
// returned.
type Call struct {
	s          *Server
	c          *gin.Context
	caller     *engine.Caller
	parameters Parameters
	// path has the values of the path's parameters.
	path []pathValue
	// unbound is the context of the request without its deadline.
	unbound context.Context
	// deadline limits the handler, and begins again after a body that arrived slowly.
	deadline time.Duration
	// doubt reports whether the answer may leave something out because its owners are in
	// doubt.
	doubt  atomic.Bool
	memory memory
	// key is the idempotency key of the request, or "".
	key string
	// in is the body while it arrives, or nil.
	in      *arrival
	charges charges
	noted   *noted
	// cancels end the contexts that have been bound.
	cancels []context.CancelFunc
}

// pathValue is the value of a parameter in a path.
type pathValue struct{ name, value string }

// Context returns the context of the request, which ends at the deadline of the call.
func (r *Call) Context() context.Context { return r.c.Request.Context() }

// Caller returns the user who sends the request, nil for a public route.
func (r *Call) Caller() *engine.Caller { return r.caller }

// Engine returns the engine that the server serves.
func (r *Call) Engine() *engine.Engine { return r.s.Engine }

// Request returns the request, whose body has not been read.
func (r *Call) Request() *http.Request { return r.c.Request }

// Header returns the header of the response.
func (r *Call) Header() http.Header { return r.c.Writer.Header() }

// Parameters returns the parameters of the query, which must not be changed. A public route
// outside /api/v1 has none, and parses the query itself (ParseQuery).
func (r *Call) Parameters() Parameters { return r.parameters }

// PathValue returns the value of a parameter of Route.Path, unescaped.
func (r *Call) PathValue(name string) string {
	for _, value := range r.path {
		if value.name == name {
			return value.value
		}
	}
	return ""
}

// ClientIP returns the address of the client, as trusted proxies report it; it is ""
// if the connection has no addresses.
func (r *Call) ClientIP() string { return clientIP(r.c) }

// Log returns the logger of the request, which adds its id to each line.
func (r *Call) Log() *slog.Logger { return r.s.logger(r.c) }

// SetUser sets the user in the log line of the request. The server sets it for
// routes that are not public.
func (r *Call) SetUser(id string) { r.noted.user = id }

const jsonType = "application/json"

// Answer sends a JSON body.
func (r *Call) Answer(status int, body []byte) { r.Send(status, jsonType, body) }

// Send sends a body with its media type.
func (r *Call) Send(status int, contentType string, body []byte) {
	write(r.c, status, contentType, body)
}

// charsetJSON is the media type of JSON from the server's own routes outside the API.
const charsetJSON = "application/json; charset=utf-8"

// SendJSON sends a value with the status 200 and the media type charsetJSON.
func (r *Call) SendJSON(value any) error { return r.encode(charsetJSON, value) }

// AnswerJSON sends a value with the status 200, as Answer does.
func (r *Call) AnswerJSON(value any) error { return r.encode(jsonType, value) }

func (r *Call) encode(contentType string, value any) error {
	body, err := json.Marshal(value)
	if err == nil {
		r.Send(http.StatusOK, contentType, body)
	}
	return err
}

// NoContent sends the status 204.
func (r *Call) NoContent() error { return empty(r.c, http.StatusNoContent) }

// Spend states how many objects the call has read or written in total, for the rate
// limits: before the work where the number is known, and again where it turns out to
// be another.
func (r *Call) Spend(objects int) {
	r.noted.objects = objects
	r.charges.spend(objects)
}

// Sharing returns the context with which a route calls Engine.Write itself: the write uses
// the memory that Body has taken.
func (r *Call) Sharing() context.Context { return budget.With(r.Context(), r.memory.share) }

// SpoolBody creates a temporary file for data that the client sends (see
// spool.Receive).
func (r *Call) SpoolBody() *spool.File { return r.s.Spool.Receive(r.Context(), r.account()) }

// Temporary creates a temporary file for data of the call.
func (r *Call) Temporary() *spool.File { return r.s.Spool.Create(r.Context(), r.account()) }

// bind starts the deadline of the call, again if it has one.
func (r *Call) bind() {
	ctx, cancel := context.WithTimeout(r.unbound, r.deadline)
	r.cancels = append(r.cancels, cancel)
	r.c.Request = r.c.Request.WithContext(ctx)
}

// account returns who is charged for the call: the user, an API token, or
// else the address.
func (r *Call) account() string {
	if r.caller != nil && !anonymous(r.caller) {
		return r.caller.Account()
	}
	address := clientAddr(r.c)
	if !address.IsValid() {
		return ""
	}
	return "\x00" + listen.ClientOf(address).String() // which no user has as an id
}

// anonymous reports whether a request without a token reads public objects.
func anonymous(caller *engine.Caller) bool {
	return caller != nil && caller.Anonymous && caller.User == ""
}

// take waits for a share of the memory budget, which the call holds until memory.give, or
// until it is closed.
func (r *Call) take(n int64) (err error) {
	began := time.Now()
	defer func() { r.noted.waitedMemory += time.Since(began) }()
	if anonymous(r.caller) {
		if r.memory.together, err = r.s.anonymous.Take(r.Context(), r.account(), n); err != nil {
			return err
		}
	}
	r.memory.share, err = r.s.work.Take(r.Context(), r.account(), n)
	return err
}

// giveMemory returns what the call holds of the memory budget.
func (r *Call) giveMemory() {
	r.noted.waitedMemory += r.memory.share.Waited()
	r.memory.give()
}

// attribute makes the store attribute the reads and writes of the call to its account.
func (r *Call) attribute() {
	effort := store.Effort{Caller: r.account(), Waited: &r.noted.waitedStore}
	r.unbound = store.WithEffort(r.unbound, effort)
	r.c.Request = r.c.Request.WithContext(store.WithEffort(r.Context(), effort))
}

// close releases what the call holds, once its response is complete.
func (r *Call) close() {
	r.giveMemory()
	r.charges.settle()
	if r.in != nil {
		r.in.end()
	}
	for _, cancel := range r.cancels {
		cancel()
	}
}

// patches reports whether a request changes an existing object only.
func patches(r *http.Request) bool { return r.Method == http.MethodPatch }

// objects are those that a path below /api/v1 names: all of a type, those below a parent,
// or the one with an id.
type objects struct {
	*Call
	t          *schema.Type
	parent, id string
	// template is the path as Route.Path has it.
	template string
}
