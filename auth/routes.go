package auth

import (
	_ "embed"
	"net/http"

	"marquee/engine/rest"
)

// OpenAPI documents the routes, as openapi.Fragment describes.
//
//go:embed openapi.json
var OpenAPI []byte

// Routes returns the token endpoint, the key set, and the routes of the operator.
func (s *Service) Routes() []rest.Route {
	return []rest.Route{
		// What the commands of the program need besides the API.
		{Path: "/operator/user", Methods: []string{http.MethodGet}, Operator: true, Serve: s.userNamed},
		{Path: "/operator/keys", Methods: []string{http.MethodGet}, Operator: true, Serve: s.listKeys},
		{Path: "/operator/keys/rotate", Methods: []string{http.MethodPost}, Operator: true, Serve: s.changeKeys(s.Keys.Rotate, "the signing keys were rotated")},
		{Path: "/operator/keys/replace", Methods: []string{http.MethodPost}, Operator: true, Serve: s.changeKeys(s.Keys.Replace, "the signing keys were replaced; all access tokens are invalid")},
		{Path: tokenPath, Methods: []string{http.MethodPost}, Public: true, Refuse: refuse, Operation: rest.OperationSignIn, Serve: s.authenticate},
		{Path: revocationPath, Methods: []string{http.MethodPost}, Public: true, Refuse: refuse, Operation: rest.OperationSignIn, Serve: s.revoke},
		{Path: "/api/v1/users/{id}/logout", Methods: []string{http.MethodPost}, Operation: rest.OperationSignIn, Serve: s.logout},
		{Path: keySetPath, Methods: []string{http.MethodGet, http.MethodHead}, Public: true, Operation: rest.OperationDocument, Serve: s.keySet},
		{Path: "/.well-known/oauth-authorization-server", Methods: []string{http.MethodGet, http.MethodHead}, Public: true, Operation: rest.OperationDocument, Serve: s.metadata},
	}
}
