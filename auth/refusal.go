package auth

import (
	"encoding/json"
	"errors"
	"net/http"

	"marquee/engine/message"
	"marquee/engine/rest"
)

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
