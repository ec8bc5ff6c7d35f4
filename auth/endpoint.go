package auth

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest"
)

// tokenParameters are those that a token request can have.
var tokenParameters = []string{"grant_type", "scope", "username", "password", "refresh_token"}

// maxTokenRequest is how large a token request may be.
const maxTokenRequest = 64 << 10

// Routes adds the token endpoint and the key set.
func (s *Service) Routes(r gin.IRoutes) {
	rest.Fixed(r, "/api/authenticate", []string{http.MethodPost}, s.authenticate)
	rest.Fixed(r, "/.well-known/jwks.json", []string{http.MethodGet, http.MethodHead}, func(c *gin.Context) {
		c.Header("Cache-Control", "public, max-age=300")
		c.JSON(http.StatusOK, gin.H{"keys": s.keys.set()})
	})
}

// authenticate is the token endpoint of OAuth 2.0 (RFC 6749, parts 4.3 and 6).
func (s *Service) authenticate(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Header("Pragma", "no-cache")
	tokens, err := s.grant(c)
	if err != nil {
		refuse(c, err)
		return
	}
	c.JSON(http.StatusOK, tokens)
}

func (s *Service) grant(c *gin.Context) (*Tokens, error) {
	parameters, err := rest.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	fields, err := tokenRequest(c)
	if err != nil {
		return nil, err
	}
	if scope := fields["scope"]; scope != "" && scope != "ng_api" {
		return nil, message.InvalidScope.Error(nil)
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
		return s.Password(c.Request.Context(), fields["username"], fields["password"], parameters["context"])
	case "refresh_token":
		if err := need("refresh_token"); err != nil {
			return nil, err
		}
		return s.Refresh(c.Request.Context(), fields["refresh_token"], parameters["context"])
	}
	return nil, message.UnsupportedGrant.Error(nil)
}

// tokenRequest reads the fields of the body, JSON or form-encoded. A body
// without a content type is what it looks like.
func tokenRequest(c *gin.Context) (map[string]string, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxTokenRequest))
	if err != nil {
		return nil, message.BodyTooLarge.Error(message.Params{"limit": maxTokenRequest})
	}
	media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if err != nil && c.GetHeader("Content-Type") != "" {
		return nil, message.MediaType.Error(message.Params{"value": c.GetHeader("Content-Type")})
	}
	looksLikeJSON := strings.HasPrefix(strings.TrimSpace(string(body)), "{")
	switch {
	case media == "application/json", strings.HasSuffix(media, "+json"), looksLikeJSON:
		return jsonFields(body)
	case media == "", media == "application/x-www-form-urlencoded", media == "text/plain":
		return rest.ParseQuery(strings.TrimSpace(string(body)))
	}
	return nil, message.MediaType.Error(message.Params{"value": c.GetHeader("Content-Type")})
}

func jsonFields(body []byte) (map[string]string, error) {
	object, err := document.DecodeObject(body, document.DefaultLimits)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for name, value := range object { // what is not known is ignored (RFC 6749, part 3.2)
		if text, ok := value.(string); ok {
			fields[name] = text
		} else if slices.Contains(tokenParameters, name) {
			return nil, message.ParameterInvalid.Error(message.Params{"parameter": name, "expected": "a string"})
		}
	}
	return fields, nil
}

// oauthCodes are the error codes of RFC 6749, part 5.2.
var oauthCodes = map[*message.Definition]string{
	message.InvalidGrant:     "invalid_grant",
	message.UnsupportedGrant: "unsupported_grant_type",
	message.InvalidScope:     "invalid_scope",
}

// refuse answers as RFC 6749 asks, with the messages beside it. A fault of the
// service is a problem as everywhere.
func refuse(c *gin.Context, err error) {
	var e *message.Error
	if !errors.As(err, &e) || rest.Status(e.Kind) >= http.StatusInternalServerError {
		rest.Fail(c, err)
		return
	}
	code, ok := oauthCodes[e.Messages[0].Definition()]
	if !ok {
		code = "invalid_request"
	}
	body, marshalErr := json.Marshal(map[string]any{"error": code, "error_description": e.Error(), "messages": e.Messages})
	if marshalErr != nil {
		panic(marshalErr)
	}
	c.Data(rest.Status(e.Kind), "application/json", body)
}
