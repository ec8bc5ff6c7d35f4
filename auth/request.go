package auth

import (
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

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

// tokenRequest parses the body, JSON or form-encoded. Without a content type, the
// first character decides.
func tokenRequest(r *rest.Call) (map[string]string, error) {
	body, err := r.ReadBody(maxTokenRequest)
	if err != nil {
		return nil, err
	}
	contentType := r.Request().Header.Get("Content-Type")
	media, parameters, err := mime.ParseMediaType(contentType)
	const expected = "application/x-www-form-urlencoded or application/json"
	switch {
	case err != nil && contentType != "":
		return nil, message.MediaType.Error(message.Params{"value": contentType, "expected": expected})
	case !rest.ReadsCharset(parameters["charset"]):
		return nil, message.MediaType.Error(message.Params{"value": contentType, "expected": expected + " in UTF-8"})
	}
	looksLikeJSON := strings.HasPrefix(strings.TrimSpace(string(body)), "{")
	switch {
	case media == "application/json", strings.HasSuffix(media, "+json"), looksLikeJSON:
		return jsonFields(body)
	case media == "", media == "application/x-www-form-urlencoded", media == "text/plain":
		return formFields(body)
	}
	return nil, message.MediaType.Error(message.Params{"value": contentType, "expected": expected})
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
