package auth

import (
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"marquee/auth/signing"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest"
)

// tokenParameters are the parameters of a token request.
var tokenParameters = []string{"grant_type", "scope", "username", "password", "refresh_token", "token", "token_type_hint", masquerade}

// masquerade names the user to act for. It is not supported, and refused: a client that
// wants the rights of another user must not be given those of its own.
const masquerade = "masqueradeAsUser"

// maxTokenRequest is the largest body of a token request.
const maxTokenRequest = 64 << 10

// OpenAPI documents the routes, as openapi.Fragment describes.
//
//go:embed openapi.json
var OpenAPI []byte

// Routes returns the token endpoint, the key set, and the routes of the operator.
func (s *Service) Routes() []rest.Route {
	return append(s.operatorRoutes(), []rest.Route{
		{Path: tokenPath, Methods: []string{http.MethodPost}, Public: true, Refuse: refuse, Serve: s.authenticate},
		{Path: revocationPath, Methods: []string{http.MethodPost}, Public: true, Refuse: refuse, Serve: s.revoke},
		{Path: "/api/v1/users/{id}/logout", Methods: []string{http.MethodPost}, Serve: s.logout},
		{Path: keySetPath, Methods: []string{http.MethodGet, http.MethodHead}, Public: true, Serve: s.keySet},
		{Path: "/.well-known/oauth-authorization-server", Methods: []string{http.MethodGet, http.MethodHead}, Public: true, Serve: s.metadata},
	}...)
}

const (
	tokenPath      = "/api/authenticate"
	revocationPath = tokenPath + "/revoke"
	keySetPath     = "/.well-known/jwks.json"
)

func (s *Service) keySet(r *rest.Call) error {
	keys, err := s.Keys.Published(r.Context())
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		return err
	}
	r.Header().Set("Cache-Control", "public, max-age="+seconds(signing.CacheAge))
	r.Send(http.StatusOK, rest.CharsetJSON, body)
	return nil
}

// authenticate is the token endpoint of OAuth 2.0 (RFC 6749, sections 4.3 and 6).
func (s *Service) authenticate(r *rest.Call) error {
	forbidCaching(r)
	tokens, err := s.grant(r)
	if err != nil {
		return refuse(r, err)
	}
	body, err := json.Marshal(tokens) // #nosec G117 -- this is the response that the tokens are for
	if err != nil {
		return err
	}
	r.Send(http.StatusOK, rest.CharsetJSON, body)
	return nil
}

// revoke is the revocation endpoint (RFC 7009). Whoever has a token may revoke it.
func (s *Service) revoke(r *rest.Call) error {
	forbidCaching(r)
	fields, err := tokenRequest(r)
	if err == nil && fields["token"] == "" {
		err = message.InvalidTokenRequest.Error(message.Params{"parameter": "token"})
	}
	if err == nil {
		if token := fields["token"]; isAPIToken(token) {
			err = s.revokeAPIToken(r.Context(), r.Engine(), token)
		} else {
			err = s.Revoke(r.Context(), token)
		}
	}
	if err != nil {
		return refuse(r, err)
	}
	r.Answer(http.StatusOK, []byte("{}"))
	return nil
}

// forbidCaching sets the headers that RFC 6749, section 5.1, requires.
func forbidCaching(r *rest.Call) {
	r.Header().Set("Cache-Control", "no-store")
	r.Header().Set("Pragma", "no-cache")
}

// tokenScope is the only OAuth 2.0 scope that a token request may name.
const tokenScope = "ng_api"

func (s *Service) grant(r *rest.Call) (*Tokens, error) {
	parameters, err := rest.ParseQuery(r.Request().URL.RawQuery)
	if err != nil {
		return nil, err
	}
	fields, err := tokenRequest(r)
	if err != nil {
		return nil, err
	}
	if fields[masquerade] != "" || parameters[masquerade] != "" {
		return nil, message.ParameterInvalid.Error(message.Params{"parameter": masquerade, "expected": "absent, as a token acts for the user who signs in"})
	}
	if scope := fields["scope"]; scope != "" && scope != tokenScope {
		return nil, message.InvalidScope.Error(message.Params{"expected": tokenScope})
	}
	need := func(names ...string) error {
		for _, name := range names {
			if fields[name] == "" {
				return message.InvalidTokenRequest.Error(message.Params{"parameter": name})
			}
		}
		return nil
	}
	switch fields["grant_type"] {
	case "":
		return nil, need("grant_type")
	case "password":
		if err := need("username", "password"); err != nil {
			return nil, err
		}
		tokens, err := s.Password(r.Context(), r.ClientIP(), fields["username"], fields["password"], parameters["context"])
		logSignIn(r, tokens, err, slog.String("username", truncate(fields["username"])))
		return tokens, err
	case "refresh_token":
		if err := need("refresh_token"); err != nil {
			return nil, err
		}
		tokens, err := s.Refresh(r.Context(), fields["refresh_token"], parameters["context"])
		logSignIn(r, tokens, err)
		return tokens, err
	}
	return nil, message.UnsupportedGrant.Error(nil)
}

// logSignIn logs a rejected sign-in, and sets the user of a successful one.
func logSignIn(r *rest.Call, tokens *Tokens, err error, who ...slog.Attr) {
	var refused *message.Error
	var again replayed
	switch {
	case errors.As(err, &again):
		r.Log().LogAttrs(r.Context(), slog.LevelWarn, "a refresh token was used again; its session has been ended",
			slog.String("user", again.user), slog.String("client", r.ClientIP()))
	case err == nil:
		r.SetUser(tokens.user)
	case errors.As(err, &refused) && rest.Status(refused.Kind) < http.StatusInternalServerError:
		attributes := append(who, slog.String("code", refused.Messages[0].Code()), slog.String("client", r.ClientIP()))
		r.Log().LogAttrs(r.Context(), slog.LevelWarn, "sign-in failed", attributes...)
	}
}

// truncate shortens a text of the client for the log.
func truncate(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// tokenRequest parses the body, JSON or form-encoded. Without a content type, the
// first character decides.
func tokenRequest(r *rest.Call) (map[string]string, error) {
	body, err := r.ReadBody(maxTokenRequest)
	if err != nil {
		return nil, err
	}
	contentType := r.Request().Header.Get("Content-Type")
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil && contentType != "" || !rest.ReadsCharset(parameters["charset"]) {
		return nil, message.MediaType.Error(message.Params{"value": contentType, "expected": "application/json"})
	}
	looksLikeJSON := strings.HasPrefix(strings.TrimSpace(string(body)), "{")
	switch {
	case media == "application/json", strings.HasSuffix(media, "+json"), looksLikeJSON:
		return jsonFields(body)
	case media == "", media == "application/x-www-form-urlencoded", media == "text/plain":
		return formFields(body)
	}
	return nil, message.MediaType.Error(message.Params{"value": contentType, "expected": "application/json"})
}

// formFields parses a form. Its values must be valid in JSON, too.
func formFields(body []byte) (map[string]string, error) {
	fields, err := rest.ParseForm(strings.TrimSpace(string(body)))
	if err != nil {
		return nil, err
	}
	for _, name := range tokenParameters {
		if value := fields[name]; strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
			return nil, message.ParameterInvalid.Error(message.Params{"parameter": name, "expected": "UTF-8 without the character U+0000"})
		}
	}
	return fields, nil
}

func jsonFields(body []byte) (map[string]string, error) {
	object, err := document.DecodeObject(body, document.DefaultLimits)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for name, value := range object { // unknown parameters are ignored (RFC 6749, section 3.2)
		if text, ok := value.(string); ok {
			fields[name] = text
		} else if slices.Contains(tokenParameters, name) {
			return nil, message.ParameterInvalid.Error(message.Params{"parameter": name, "expected": "a string"})
		}
	}
	return fields, nil
}

// oauthCodes are the error codes of RFC 6749, sections 5.2 and 4.1.2.1.
var oauthCodes = map[*message.Definition]string{
	message.InvalidGrant:     "invalid_grant",
	message.UnsupportedGrant: "unsupported_grant_type",
	message.InvalidScope:     "invalid_scope",
	message.AttemptsTooMany:  "temporarily_unavailable",
	message.SignInsFailed:    "temporarily_unavailable",
	message.RequestsTooMany:  "temporarily_unavailable",
	message.RateExceeded:     "temporarily_unavailable",
}

// refuse responds to a client error in the format of RFC 6749, with the messages
// added. Other errors are problem documents, as everywhere. A value that no object could
// have is a request that is malformed (RFC 6749, section 5.2).
func refuse(r *rest.Call, err error) error {
	var e *message.Error
	if !errors.As(err, &e) || rest.Status(e.Kind) >= http.StatusInternalServerError {
		return err
	}
	code, ok := oauthCodes[e.Messages[0].Definition()]
	if !ok {
		code = "invalid_request"
	}
	body, err := json.Marshal(map[string]any{"error": code, "error_description": e.Error(), "messages": e.Messages})
	if err != nil {
		return err
	}
	forbidCaching(r)
	if e.RetryAfter > 0 {
		r.Header().Set("Retry-After", rest.RetryAfter(e.RetryAfter))
	}
	status := rest.Status(e.Kind)
	if e.Kind == message.Invalid {
		status = http.StatusBadRequest
	}
	r.Answer(status, body)
	return nil
}
