package rest

import (
	"context"
	"net/http"
	"strings"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Authenticator returns the caller that an access token belongs to. Errors are of
// kind Unauthenticated.
type Authenticator interface {
	Caller(ctx context.Context, token string) (*engine.Caller, error)
	// Member returns a user with the user's rights, or nil if there is no ACTIVE user
	// with the id.
	Member(ctx context.Context, user string) (*engine.Caller, error)
}

// operatorKey is the key of the context value that marks a request of the operator.
type operatorKey struct{}

// operatorName is how the log names the operator, who is no user.
const operatorName = "operator"

// Operator returns a handler for requests of the operator: they need no token, may do
// everything that users together may do, reach the routes that are for the operator
// alone, and are not subject to rate limits. It must be served only where nobody else
// can connect. No header of a request to the server itself has this effect.
func (s *Server) Operator() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operatorKey{}, true)))
	})
}

// operated reports whether the request is the operator's.
func (r *Call) operated() bool {
	operated, _ := r.c.Request.Context().Value(operatorKey{}).(bool)
	return operated
}

// OnBehalfOf is the header with which the operator acts for a user, whose id it holds:
// with the rights of that user, who creates the new objects. It means nothing in the
// requests of others.
const OnBehalfOf = "Marquee-User"

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

// authenticateOperator sets the caller of a request of the operator.
func (r *Call) authenticateOperator() error {
	r.caller = &engine.Caller{System: true, Operator: true}
	r.SetUser(operatorName)
	user := r.c.GetHeader(OnBehalfOf)
	if user == "" {
		return nil
	}
	member, err := r.s.Auth.Member(r.Context(), user)
	if err != nil {
		return err
	}
	if member == nil {
		return message.ObjectNotFound.Error(message.Params{"type": "users", "id": user})
	}
	caller := *member
	caller.Operator = true
	r.caller = &caller
	return nil
}

// credentials reports whether a request has any.
func (r *Call) credentials() bool {
	_, inQuery := r.parameters["auth_token"]
	return inQuery || len(r.c.Request.Header.Values("Authorization")) > 0 || r.operated()
}

// recognise sets the caller of a request that reads public objects: an anonymous one if it
// has no token, or if its user has no role in the network.
func (r *Call) recognise() error {
	if !r.credentials() {
		r.caller = &engine.Caller{Anonymous: true}
		if out := r.outbox(); out != nil {
			out.anonymous = true
		}
		return nil
	}
	if err := r.authenticate(); err != nil {
		return err
	}
	if _, member := r.caller.Grants[r.parameters["context"]]; !member && !r.caller.System && !r.caller.Operator {
		r.caller = &engine.Caller{Anonymous: true, User: r.caller.User, Token: r.caller.Token}
	}
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

// publicNetwork returns the network that an anonymous caller reads, and "" unless it is
// ACTIVE: no object is in that network, so that all others look alike.
func (r *Call) publicNetwork() (string, error) {
	stored, err := r.storedNetwork()
	r.caller.Public = ""
	if stored.State == "ACTIVE" {
		r.caller.Public = stored.ID
	}
	return r.caller.Public, err
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
		stored, err := r.storedNetwork()
		if err == nil && stored.Revision == 0 {
			err = message.ObjectNotFound.Error(message.Params{"type": "networks", "id": network})
		}
		return network, err
	}
	if _, member := r.caller.Grants[network]; !member {
		return "", message.NetworkForbidden.Error(message.Params{"context": network})
	}
	return network, nil
}

// storedNetwork returns the record of the network that the parameter context names. Its
// revision is 0 if there is none.
func (r *Call) storedNetwork() (record store.Record, err error) {
	err = r.s.Engine.Store.Read(r.Context(), func(s store.Snapshot) (err error) {
		record, err = store.ReadOne(r.Context(), s, "networks", store.Key{ID: r.parameters["context"]}, nil)
		return err
	})
	return record, store.Translate(err)
}
