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

// operated reports whether a request is the operator's.
func operated(ctx context.Context) bool {
	operated, _ := ctx.Value(operatorKey{}).(bool)
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

// authenticate sets the caller: the operator, or the one that the token belongs to.
func (r *Call) authenticate() (err error) {
	if operated(r.Context()) {
		r.SetUser(operatorName)
		r.caller, err = operator(r.Context(), r.s.Auth, r.c.GetHeader(OnBehalfOf))
		return err
	}
	token, inQuery, err := accessToken(r.c.Request.Header, r.parameters)
	if err != nil {
		return err
	}
	if r.caller, err = r.s.Auth.Caller(r.Context(), token); err != nil {
		return err
	}
	if r.caller.Token != nil {
		if inQuery {
			r.caller = nil
			return message.TokenInURL.Error(nil)
		}
		r.noted.token = r.caller.Token.ID
	}
	r.SetUser(r.caller.User)
	return nil
}

// Credential returns a function that authenticates the caller of the call again, as its token
// allows at that time. It returns the errors of an Authenticator.
func (r *Call) Credential() func(context.Context) (*engine.Caller, error) {
	if operated(r.Context()) {
		caller := r.caller
		return func(context.Context) (*engine.Caller, error) { return caller, nil }
	}
	auth := r.s.Auth
	token, _, err := accessToken(r.c.Request.Header, r.parameters)
	return func(ctx context.Context) (*engine.Caller, error) {
		if err != nil {
			return nil, err
		}
		return auth.Caller(ctx, token)
	}
}

// accessToken returns the token in the header or the query (RFC 6750). Whether it is in the
// query, alone or as well, matters to API tokens.
func accessToken(sent http.Header, parameters Parameters) (token string, inQuery bool, err error) {
	token, inQuery = parameters["auth_token"]
	if header := sent.Get("Authorization"); header != "" {
		scheme, value, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return "", inQuery, message.TokenMissing.Error(nil)
		}
		value = strings.TrimSpace(value)
		if inQuery && value != token || len(sent.Values("Authorization")) > 1 {
			return "", inQuery, message.TokenTwice.Error(nil)
		}
		token = value
	}
	if token == "" {
		return "", inQuery, message.TokenMissing.Error(nil)
	}
	return token, inQuery, nil
}

// operator returns the operator as a caller, with the rights of a user unless that is "".
func operator(ctx context.Context, auth Authenticator, user string) (*engine.Caller, error) {
	if user == "" {
		return &engine.Caller{System: true, Operator: true}, nil
	}
	member, err := auth.Member(ctx, user)
	if err != nil {
		return nil, err
	}
	if member == nil {
		return nil, message.ObjectNotFound.Error(message.Params{"type": "users", "id": user})
	}
	caller := *member
	caller.Operator = true
	return &caller, nil
}

// recognise sets the caller of a request that reads public objects: an anonymous one if it
// has no token, or if its user has no role in the network.
func (r *Call) recognise() error {
	_, inQuery := r.parameters["auth_token"]
	if !inQuery && len(r.c.Request.Header.Values("Authorization")) == 0 && !operated(r.Context()) {
		r.caller = &engine.Caller{Anonymous: true}
		r.noted.anonymous = true
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
	find := contextNetwork
	if r.caller.Anonymous {
		find = publicNetwork
	}
	network, err := find(r.Context(), r.s.Engine.Store, r.caller, r.parameters["context"])
	if err == nil && network == "" && !r.caller.Anonymous {
		err = message.ParameterMissing.Error(message.Params{"parameter": "context"})
	}
	return network, err
}

// publicNetwork returns the network that an anonymous caller reads, and "" unless it is
// ACTIVE: no object is in that network, so that all others look alike.
func publicNetwork(ctx context.Context, from store.Store, caller *engine.Caller, network string) (string, error) {
	stored, err := storedNetwork(ctx, from, network)
	caller.Public = ""
	if stored.State == "ACTIVE" {
		caller.Public = stored.ID
	}
	return caller.Public, err
}

// contextNetwork returns the network that the parameter context names, "" if that is
// absent or empty, once it has checked it for the caller. An error is of kind Forbidden if the caller has no role in it, or of
// kind NotFound if it does not exist and the caller is the operator.
func contextNetwork(ctx context.Context, from store.Store, caller *engine.Caller, network string) (string, error) {
	switch {
	case network == "":
		return "", nil
	case caller.Operator:
		stored, err := storedNetwork(ctx, from, network)
		if err == nil && stored.Revision == 0 {
			err = message.ObjectNotFound.Error(message.Params{"type": "networks", "id": network})
		}
		return network, err
	}
	if _, member := caller.Grants[network]; !member {
		return "", message.NetworkForbidden.Error(message.Params{"context": network})
	}
	return network, nil
}

// storedNetwork returns the record of a network. Its revision is 0 if there is none.
func storedNetwork(ctx context.Context, from store.Store, network string) (record store.Record, err error) {
	err = from.Read(ctx, func(s store.Snapshot) (err error) {
		record, err = store.ReadOne(ctx, s, "networks", store.Key{ID: network}, nil)
		return err
	})
	return record, store.Translate(err)
}
