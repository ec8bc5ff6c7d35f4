package auth

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"marquee/auth/apitoken"
	"marquee/auth/rights"
	"marquee/auth/session"
	"marquee/engine"
	"marquee/engine/event"
	"marquee/engine/message"
	"marquee/engine/rest"
)

// authenticate is the token endpoint of OAuth 2.0 (RFC 6749, sections 4.3 and 6).
func (s *Service) authenticate(r *rest.Call) error {
	forbidCaching(r)
	tokens, err := s.grant(r)
	if err != nil {
		return refuse(r, err)
	}
	return r.SendJSON(tokens)
}

// revoke is the revocation endpoint (RFC 7009). Whoever has a token may revoke it.
func (s *Service) revoke(r *rest.Call) error {
	forbidCaching(r)
	fields, err := tokenRequest(r)
	if err == nil && fields["token"] == "" {
		err = message.InvalidTokenRequest.Error(message.Params{"parameter": "token"})
	}
	if err == nil {
		err = s.revokeToken(r, fields["token"])
	}
	if err != nil {
		return refuse(r, err)
	}
	r.Answer(http.StatusOK, []byte("{}"))
	return nil
}

// revokeToken revokes an API token, or ends the session of another one.
func (s *Service) revokeToken(r *rest.Call, token string) error {
	if apitoken.Is(token) {
		id, err := s.Tokens.Revoke(r.Context(), r.Engine(), token)
		if err == nil && id != "" {
			logToken(r, event.TokenRevoked, id)
		}
		return err
	}
	user, err := s.Sessions.Revoke(r.Context(), token)
	if err == nil && user != "" {
		r.Log().LogAttrs(r.Context(), slog.LevelInfo, "a session was ended with its token", event.SessionEnded.Attr(), slog.String("user", user))
	}
	return err
}

// Stored logs the API tokens that a write has created or revoked, and the users whose sessions it
// has ended with a new password.
func (s *Service) Stored(r *rest.Call, changes []*engine.Change) {
	for _, c := range changes {
		switch {
		case rights.PasswordReplaced(c):
			r.Log().LogAttrs(r.Context(), slog.LevelInfo, "the sessions of a user were ended by a new password", event.SessionEnded.Attr(), slog.String("user", c.ID))
		case c.Type.Name != apitoken.Type:
		case c.Created():
			logToken(r, event.TokenCreated, c.ID)
		case c.StateBefore == "ACTIVE" && c.State != "ACTIVE":
			logToken(r, event.TokenRevoked, c.ID)
		}
	}
}

// logToken logs what happened to an API token.
func logToken(r *rest.Call, e event.Event, id string) {
	text := "an API token was created"
	if e == event.TokenRevoked {
		text = "an API token was revoked"
	}
	attributes := []slog.Attr{e.Attr(), slog.String("token", id)}
	if caller := r.Caller(); caller != nil && caller.User != "" {
		attributes = append(attributes, slog.String("user", caller.User))
	}
	r.Log().LogAttrs(r.Context(), slog.LevelInfo, text, attributes...)
}

// logout ends all sessions of a user, on behalf of that user or of whoever may set the
// user's password.
func (s *Service) logout(r *rest.Call) error {
	if err := r.Parameters().Only(); err != nil {
		return err
	}
	if _, err := r.ReadBody(1 << 10); err != nil {
		return err
	}
	id := r.PathValue("id")
	if !r.Caller().Is(id) && !r.Caller().Operator {
		if err := rights.MaySetPassword(r.Context(), r.Engine(), r.Caller(), id); err != nil {
			return err
		}
	}
	if err := s.Sessions.EndAll(r.Context(), id); err != nil {
		return err
	}
	r.Log().LogAttrs(r.Context(), slog.LevelInfo, "all sessions of a user were ended", event.SessionEnded.Attr(), slog.String("user", id))
	return r.NoContent()
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
		s.logSignIn(r, tokens, err, slog.String("username", truncate(fields["username"])))
		return tokens, err
	case "refresh_token":
		if err := need("refresh_token"); err != nil {
			return nil, err
		}
		tokens, err := s.Sessions.Refresh(r.Context(), fields["refresh_token"], parameters["context"])
		s.logSignIn(r, tokens, err)
		return tokens, err
	}
	return nil, message.UnsupportedGrant.Error(nil)
}

// logSignIn logs a rejected sign-in, and sets the user of a successful one.
func (s *Service) logSignIn(r *rest.Call, tokens *session.Tokens, err error, who ...slog.Attr) {
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
		if len(who) > 0 { // otherwise, the session is continued
			r.Log().LogAttrs(r.Context(), slog.LevelInfo, "signed in", event.SignIn.Attr(), slog.String("user", tokens.User), slog.String("client", r.ClientIP()))
		}
		if tokens.Ended > 0 {
			r.Log().LogAttrs(r.Context(), slog.LevelInfo, "the oldest sessions of a user were ended, as there were too many", event.SessionEnded.Attr(), slog.String("user", tokens.User), slog.Int("sessions", tokens.Ended))
		}
	case errors.As(err, &refused) && rest.Status(refused.Kind) < http.StatusInternalServerError:
		attributes := append(who, event.SignInRefused.Attr(), slog.String("code", refused.Messages[0].Code()), slog.String("client", r.ClientIP()))
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
