package rest

import (
	"context"
	"net/http"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

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

// existingNetwork returns a network of which the caller needs no membership.
func (r *Call) existingNetwork(network string) (string, error) {
	found := false
	err := r.s.Engine.Store.Read(r.Context(), func(s store.Snapshot) error {
		found = false
		return s.Get(r.Context(), "networks", []store.Key{{ID: network}}, func(*store.Record) error {
			found = true
			return nil
		})
	})
	if err != nil {
		return "", store.Translate(err)
	}
	if !found {
		return "", message.ObjectNotFound.Error(message.Params{"type": "networks", "id": network})
	}
	return network, nil
}
