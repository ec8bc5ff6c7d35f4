package rest

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/budget"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
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

// close releases what the call holds, once its response is complete.
func (r *Call) close() {
	r.give()
	r.settleRates()
	if r.in != nil {
		r.in.end()
	}
	for _, cancel := range r.cancels {
		cancel()
	}
}

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

// client returns the address of the client, as trusted proxies report it.
func (r *Call) client() netip.Addr { return clientAddr(r.c) }

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

// Answer sends a JSON body.
func (r *Call) Answer(status int, body []byte) { r.Send(status, jsonType, body) }

// Send sends a body with its media type.
func (r *Call) Send(status int, contentType string, body []byte) {
	write(r.c, status, contentType, body)
}

// NoContent sends the status 204.
func (r *Call) NoContent() error { return r.empty(http.StatusNoContent) }

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

// Authenticate sets the caller and the parameters of a public route, for which a
// token is optional. An error is of kind Malformed or Unauthenticated.
func (r *Call) Authenticate() (err error) {
	if r.parameters, err = ParseQuery(r.c.Request.URL.RawQuery); err != nil {
		return err
	}
	return r.authenticate()
}

// authenticate sets the caller by the token in the header or the query (RFC 6750).
func (r *Call) authenticate() error {
	if r.operated() {
		return r.authenticateOperator()
	}
	token, inQuery := r.parameters["auth_token"]
	if header := r.c.GetHeader("Authorization"); header != "" {
		scheme, value, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return message.TokenMissing.Error(nil)
		}
		value = strings.TrimSpace(value)
		if inQuery && value != token || len(r.c.Request.Header.Values("Authorization")) > 1 {
			return message.TokenTwice.Error(nil)
		}
		token = value
	}
	if token == "" {
		return message.TokenMissing.Error(nil)
	}
	caller, err := r.s.Auth.Caller(r.c.Request.Context(), token)
	if r.caller = caller; err != nil {
		return err
	}
	if caller.Token != nil {
		if inQuery {
			r.caller = nil
			return message.TokenInURL.Error(nil)
		}
		if out := r.outbox(); out != nil {
			out.token = caller.Token.ID
		}
	}
	r.SetUser(caller.User)
	return nil
}

// Network returns the network that the parameter context names, in which the caller
// must have a role. For a global type, context is ignored and the network is "". A
// nil type means a call about the network itself.
func (r *Call) Network(t *schema.Type) (string, error) {
	if t != nil && t.Global {
		return "", nil
	}
	if r.caller.Anonymous {
		return r.publicNetwork()
	}
	network, err := r.contextNetwork()
	if err == nil && network == "" {
		err = message.ParameterMissing.Error(message.Params{"parameter": "context"})
	}
	return network, err
}

// contextNetwork returns the network that the parameter context names, "" if it is
// absent or empty. An error is of kind Forbidden if the caller has no role in it, or of
// kind NotFound if it does not exist and the caller is the operator.
func (r *Call) contextNetwork() (string, error) {
	network := r.parameters["context"]
	switch {
	case network == "":
		return "", nil
	case r.caller.Operator:
		return r.existingNetwork(network)
	}
	if _, member := r.caller.Grants[network]; !member {
		return "", message.NetworkForbidden.Error(message.Params{"context": network})
	}
	return network, nil
}
