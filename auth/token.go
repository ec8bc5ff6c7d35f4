package auth

import (
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"marquee/auth/session"
	"marquee/engine/document"
	"marquee/engine/event"
	"marquee/engine/message"
	"marquee/engine/rest"
)

// authenticate is the token endpoint of OAuth 2.0 (RFC 6749, sections 4.3 and 6).
func (s *Service) authenticate(r *rest.Call) error {
	forbidCaching(r)
	tokens, err := s.grant(r)
	if err == nil {
		return r.SendJSON(tokens)
	}
	return refuse(r, err)
}

func (s *Service) grant(r *rest.Call) (*session.Tokens, error) {
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
		tokens, err := s.Sessions.SignIn(r.Context(), r.ClientIP(), fields["username"], fields["password"], parameters["context"])
		s.logSignIn(r, tokens, err, fields["username"])
		return tokens, err
	case "refresh_token":
		if err := need("refresh_token"); err != nil {
			return nil, err
		}
		tokens, err := s.Sessions.Refresh(r.Context(), fields["refresh_token"], parameters["context"])
		s.logSignIn(r, tokens, err, "")
		return tokens, err
	}
	return nil, message.UnsupportedGrant.Error(nil)
}

// tokenParameters are the parameters of a token request.
var tokenParameters = []string{"grant_type", "scope", "username", "password", "refresh_token", "token", "token_type_hint", masquerade}

// masquerade names the user to act for. It is not supported, and refused: a client that
// wants the rights of another user must not be given those of its own.
const masquerade = "masqueradeAsUser"

// maxTokenRequest is the largest body of a token request.
const maxTokenRequest = 64 << 10

// tokenRequest parses the body, a form or JSON. Without a content type, the first character
// decides.
func tokenRequest(r *rest.Call) (fields map[string]string, err error) {
	body, err := r.ReadBody(maxTokenRequest)
	if err != nil {
		return nil, err
	}
	contentType, text := r.Request().Header.Get("Content-Type"), strings.TrimSpace(string(body))
	media, parameters, err := mime.ParseMediaType(contentType)
	const expected = "application/x-www-form-urlencoded or application/json"
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json") || strings.HasPrefix(text, "{")
	switch {
	case err != nil && contentType != "":
		return nil, message.MediaType.Error(message.Params{"value": contentType, "expected": expected})
	case !rest.ReadsCharset(parameters["charset"]):
		return nil, message.MediaType.Error(message.Params{"value": contentType, "expected": expected + " in UTF-8"})
	case !isJSON && !slices.Contains([]string{"", "application/x-www-form-urlencoded", "text/plain"}, media):
		return nil, message.MediaType.Error(message.Params{"value": contentType, "expected": expected})
	case !isJSON:
		if fields, err = rest.ParseForm(text); err != nil {
			return nil, err
		}
		for _, name := range tokenParameters {
			if value := fields[name]; strings.ContainsRune(value, 0) || !utf8.ValidString(value) { // which JSON cannot have
				return nil, message.ParameterInvalid.Error(message.Params{"parameter": name, "expected": "UTF-8 without the character U+0000"})
			}
		}
		return fields, nil
	}
	object, err := document.DecodeObject(body, document.DefaultLimits)
	if err != nil {
		return nil, err
	}
	fields = map[string]string{}
	for name, value := range object { // unknown parameters are ignored (RFC 6749, section 3.2)
		if text, ok := value.(string); ok {
			fields[name] = text
		} else if slices.Contains(tokenParameters, name) {
			return nil, message.ParameterInvalid.Error(message.Params{"parameter": name, "expected": "a string"})
		}
	}
	return fields, nil
}

// logSignIn counts and logs an attempt to sign in with a username, or to continue a session if that
// is "". It sets the user of a successful one.
func (s *Service) logSignIn(r *rest.Call, tokens *session.Tokens, err error, username string) {
	var refused *message.Error
	var again session.Replayed
	switch {
	case err == nil:
		s.signIns.accepted.Add(1)
	case message.SignInsFailed.Is(err), message.AttemptsTooMany.Is(err):
		s.signIns.limited.Add(1)
	case errors.As(err, &refused) && rest.Status(refused.Kind) < http.StatusInternalServerError:
		s.signIns.refused.Add(1)
	}
	switch {
	case errors.As(err, &again):
		r.Log().LogAttrs(r.Context(), slog.LevelWarn, "a refresh token was used again; its session has been ended",
			event.SessionEnded.Attr(), slog.String("user", again.User), slog.String("client", r.ClientIP()))
	case err == nil:
		r.SetUser(tokens.User)
		if username != "" {
			r.Log().LogAttrs(r.Context(), slog.LevelInfo, "signed in", event.SignIn.Attr(), slog.String("user", tokens.User), slog.String("client", r.ClientIP()))
		}
		if tokens.Ended > 0 {
			r.Log().LogAttrs(r.Context(), slog.LevelInfo, "the oldest sessions of a user were ended, as there were too many", event.SessionEnded.Attr(), slog.String("user", tokens.User), slog.Int("sessions", tokens.Ended))
		}
	case errors.As(err, &refused) && rest.Status(refused.Kind) < http.StatusInternalServerError:
		attributes := []slog.Attr{event.SignInRefused.Attr(), slog.String("code", refused.Messages[0].Code()), slog.String("client", r.ClientIP())}
		if username != "" {
			attributes = append(attributes, slog.String("username", truncate(username)))
		}
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

// forbidCaching sets the headers that RFC 6749, section 5.1, requires.
func forbidCaching(r *rest.Call) {
	r.Header().Set("Cache-Control", "no-store")
	r.Header().Set("Pragma", "no-cache")
}
