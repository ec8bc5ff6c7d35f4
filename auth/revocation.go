package auth

import (
	"log/slog"
	"net/http"

	"marquee/auth/apitoken"
	"marquee/auth/rights"
	"marquee/engine"
	"marquee/engine/event"
	"marquee/engine/message"
	"marquee/engine/rest"
)

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
