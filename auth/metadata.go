package auth

import (
	"fmt"

	"marquee/auth/signing"
	"marquee/engine/rest"
)

const (
	tokenPath      = "/api/authenticate"
	revocationPath = tokenPath + "/revoke"
	keySetPath     = "/.well-known/jwks.json"
)

// tokenScope is the only OAuth 2.0 scope that a token request may name.
const tokenScope = "ng_api"

// metadata describes the token endpoint (RFC 8414). Without Config.PublicURL, its URLs are those
// of the request: the document requires absolute ones, and nobody but the client itself
// receives what a false Host names.
func (s *Service) metadata(r *rest.Call) error {
	base := s.config.PublicURL
	if base == "" {
		base = "http://" + r.Request().Host
		if r.Request().TLS != nil {
			base = "https://" + r.Request().Host
		}
	}
	unauthenticated := []string{"none"} // clients have no credentials of their own
	r.Header().Set("Cache-Control", "no-store")
	return r.SendJSON(map[string]any{
		"issuer":                                     base,
		"token_endpoint":                             base + tokenPath,
		"token_endpoint_auth_methods_supported":      unauthenticated,
		"revocation_endpoint":                        base + revocationPath,
		"revocation_endpoint_auth_methods_supported": unauthenticated,
		"jwks_uri":                                   base + keySetPath,
		"grant_types_supported":                      []string{"password", "refresh_token"},
		"response_types_supported":                   []string{}, // there is no authorization endpoint
		"scopes_supported":                           []string{tokenScope},
		"service_documentation":                      base + "/docs",
	})
}

// keySet answers with the public keys, as a JSON Web Key Set (RFC 7517).
func (s *Service) keySet(r *rest.Call) error {
	keys, err := s.Keys.Published(r.Context())
	if err != nil {
		return err
	}
	r.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(signing.CacheAge.Seconds())))
	return r.SendJSON(map[string]any{"keys": keys})
}
