package rest

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/budget"
	"marquee/engine/listen"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
	"marquee/engine/spool"
)

// Call is a request that a route serves. It must not be used after Route.Serve has
// returned.
type Call struct {
	s          *Server
	c          *gin.Context
	caller     *engine.Caller
	parameters map[string]string
	// path has the values of the path's parameters.
	path []pathValue
	// unbound is the context of the request without its deadline.
	unbound context.Context
	// deadline limits the handler, and begins again after a body that arrived slowly.
	deadline time.Duration
	// doubt reports whether the answer may leave something out because its owners are in
	// doubt.
	doubt atomic.Bool
	// share is the call's part of the memory budget, or nil.
	share *budget.Share
	// together is the call's part of what requests without a token have together, or nil.
	together *budget.Share
	// in is the body while it arrives, or nil.
	in *arrival
	// charges are what the call has taken of the rate limits, one for each limit that
	// applies.
	charges []charge
	// cancels end the contexts that have been bound.
	cancels []context.CancelFunc
}

// Context returns the context of the request, which ends at the deadline of the call.
func (r *Call) Context() context.Context { return r.c.Request.Context() }

// Caller returns the user who sends the request, nil for a public route.
func (r *Call) Caller() *engine.Caller { return r.caller }

// Engine returns the engine that the server serves.
func (r *Call) Engine() *engine.Engine { return r.s.Engine }

// Request returns the request, whose body has not been read.
func (r *Call) Request() *http.Request { return r.c.Request }

// reads reports whether the request reads.
func (r *Call) reads() bool { return slices.Contains(readMethods, r.c.Request.Method) }

// patches reports whether the request changes an existing object only.
func (r *Call) patches() bool { return r.c.Request.Method == http.MethodPatch }

// Header returns the header of the response.
func (r *Call) Header() http.Header { return r.c.Writer.Header() }

// Parameter returns a parameter of the query. A public route outside /api/v1 has
// none, and parses the query itself (ParseQuery).
func (r *Call) Parameter(name string) (value string, given bool) {
	value, given = r.parameters[name]
	return value, given
}

// Parameters returns the parameters of the query, which must not be changed.
func (r *Call) Parameters() map[string]string { return r.parameters }

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

// hangUp closes the connection after the response, on which a client has not sent
// what it announced. On one with HTTP/2, only the stream ends.
func (r *Call) hangUp() {
	if r.c.Request.ProtoMajor < 2 {
		r.c.Header("Connection", "close")
	}
}

// Log returns the logger of the request, which adds its id to each line.
func (r *Call) Log() *slog.Logger { return r.s.logger(r.c) }

// SetUser sets the user in the log line of the request. The server sets it for
// routes that are not public.
func (r *Call) SetUser(id string) {
	if out := r.outbox(); out != nil {
		out.user = id
	}
}

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
func (r *Call) SendJSON(value any) error {
	body, err := json.Marshal(value)
	if err == nil {
		r.Send(http.StatusOK, charsetJSON, body)
	}
	return err
}

// NoContent sends the status 204.
func (r *Call) NoContent() error { return r.empty(http.StatusNoContent) }

// empty sends a response without a body.
func (r *Call) empty(status int) error {
	r.c.Status(status)
	r.c.Writer.WriteHeaderNow()
	return nil
}

// Only rejects parameters of the query other than these and those of all routes.
func (r *Call) Only(names ...string) error {
	return OnlyParameters(r.parameters, names...)
}

// OnlyParameters rejects parameters of a query, as ParseQuery returns it, other than
// these and those of all routes. The error names what is allowed.
func OnlyParameters(parameters map[string]string, names ...string) error {
	allowed := append([]string{"auth_token", "context"}, names...)
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if !slices.Contains(allowed, name) {
			slices.Sort(allowed)
			return message.ParameterUnknown.Error(message.Params{"parameter": name, "allowed": strings.Join(slices.Compact(allowed), ", ")})
		}
	}
	return nil
}

// Boolean returns a parameter that is true or false, false if it is absent.
func (r *Call) Boolean(name string) (bool, error) { return BooleanParameter(r.parameters, name) }

// BooleanParameter returns a parameter of a query, as ParseQuery returns it, that is true
// or false, false if it is absent.
func BooleanParameter(parameters map[string]string, name string) (bool, error) {
	value, given := parameters[name]
	on, ok := query.Switch(value)
	if given && !ok {
		return false, message.ParameterInvalid.Error(message.Params{"parameter": name, "expected": "true or false"})
	}
	return on, nil
}

// bind starts the deadline of the call, again if it has one.
func (r *Call) bind() {
	ctx, cancel := context.WithTimeout(r.unbound, r.deadline)
	r.cancels = append(r.cancels, cancel)
	r.c.Request = r.c.Request.WithContext(ctx)
}

// answerTime is how long a response may take that was complete at the deadline.
const answerTime = time.Minute

// extend replaces the timeouts of the connection for a route whose deadline is
// longer than the server's.
func (r *Call) extend(deadline time.Duration) {
	if deadline <= r.s.Deadline {
		return
	}
	control, until := http.NewResponseController(r.c.Writer), time.Now().Add(deadline)
	// An error means that the connection has no deadlines to extend.
	_ = control.SetReadDeadline(until)
	_ = control.SetWriteDeadline(until.Add(answerTime))
}

// Spool creates a temporary file for the call, which must be closed.
func (r *Call) Spool() *spool.File { return r.s.Spool.Create(r.Context(), r.account()) }

// SpoolBody creates a temporary file for data that the client sends (see
// spool.Receive).
func (r *Call) SpoolBody() *spool.File { return r.s.Spool.Receive(r.Context(), r.account()) }

// account returns who is charged for the call: the user, an API token, or
// else the address.
func (r *Call) account() string {
	if r.caller != nil && !r.anonymous() {
		return r.caller.Account()
	}
	address := clientAddr(r.c)
	if !address.IsValid() {
		return ""
	}
	return "\x00" + listen.ClientOf(address).String() // which no user has as an id
}

// anonymous reports whether a request without a token reads public objects.
func (r *Call) anonymous() bool { return r.caller != nil && r.caller.Anonymous && r.caller.User == "" }

// objects are those that a path below /api/v1 names: all of a type, those below a parent,
// or the one with an id.
type objects struct {
	*Call
	t          *schema.Type
	parent, id string
	// template is the path as Route.Path has it.
	template string
}
