package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// ParseQuery reads a query string. Only & separates parameters: a semicolon
// belongs to its value. A parameter that stands twice is refused, as nothing
// tells which one is meant. Errors are of kind Malformed.
func ParseQuery(raw string) (map[string]string, error) {
	parameters := map[string]string{}
	for raw != "" {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		if part == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return nil, message.QuerySyntax.Error(nil)
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return nil, message.QuerySyntax.Error(message.Params{"parameter": name})
		}
		if _, twice := parameters[name]; twice {
			return nil, message.ParameterRepeated.Error(message.Params{"parameter": name})
		}
		parameters[name] = value
	}
	return parameters, nil
}

// Call is a request to the API on its way through a handler. Routes of resources
// get it when its caller is known.
type Call struct {
	s          *Server
	c          *gin.Context
	caller     *engine.Caller
	parameters map[string]string
}

// Context ends with the request, or with its deadline.
func (r *Call) Context() context.Context { return r.c.Request.Context() }

// Caller is who asks.
func (r *Call) Caller() *engine.Caller { return r.caller }

// Engine is what the service serves.
func (r *Call) Engine() *engine.Engine { return r.s.Engine }

// Request is the request itself, whose body has not been read.
func (r *Call) Request() *http.Request { return r.c.Request }

// Header is that of the answer.
func (r *Call) Header() http.Header { return r.c.Writer.Header() }

// Parameter is a parameter of the query.
func (r *Call) Parameter(name string) (value string, given bool) {
	value, given = r.parameters[name]
	return value, given
}

// Parameters are those of the query; they must not be changed.
func (r *Call) Parameters() map[string]string { return r.parameters }

// Answer sends a body of JSON.
func (r *Call) Answer(status int, body []byte) { write(r.c, status, jsonType, body) }

// Only refuses parameters besides those named.
func (r *Call) Only(names ...string) error {
	for name := range r.parameters {
		if name != "auth_token" && !slices.Contains(names, name) {
			return message.ParameterUnknown.Error(message.Params{"parameter": name})
		}
	}
	return nil
}

// Boolean reads a parameter that is true or false; an absent one is false.
func (r *Call) Boolean(name string) (bool, error) {
	switch value, given := r.parameters[name]; {
	case !given, value == "false":
		return false, nil
	case value == "true":
		return true, nil
	}
	return false, message.ParameterInvalid.Error(message.Params{"parameter": name, "expected": "true or false"})
}

// authenticate finds the caller by the token of the header or of the query
// (RFC 6750).
func (r *Call) authenticate() error {
	token, inQuery := r.parameters["auth_token"]
	if header := r.c.GetHeader("Authorization"); header != "" {
		scheme, value, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return message.TokenMissing.Error(nil)
		}
		if inQuery {
			return message.TokenTwice.Error(nil)
		}
		token = strings.TrimSpace(value)
	}
	if token == "" {
		return message.TokenMissing.Error(nil)
	}
	var err error
	r.caller, err = r.s.Auth.Caller(r.c.Request.Context(), token)
	return err
}

// Network checks the parameter context. For a type that belongs to networks it
// is required; for a global one it may be left out. A nil type is a call that
// is of a network itself.
func (r *Call) Network(t *schema.Type) (string, error) {
	network, given := r.parameters["context"]
	if !given {
		if t != nil && t.Global {
			return "", nil
		}
		return "", message.ParameterMissing.Error(message.Params{"parameter": "context"})
	}
	if _, member := r.caller.Grants[network]; !member {
		return "", message.NetworkForbidden.Error(message.Params{"context": network})
	}
	return network, nil
}

// Body reads the body, unpacked, of at most limit bytes.
func (r *Call) Body(limit int) ([]byte, error) {
	in, err := r.incoming(limit)
	if err != nil {
		return nil, err
	}
	defer in.close()
	var body bytes.Buffer
	n, err := io.CopyN(&body, in, smallBody)
	if err == nil && n == smallBody {
		select {
		case r.s.large <- struct{}{}:
			defer func() { <-r.s.large }()
		case <-r.Context().Done():
			return nil, engine.Translate(r.Context().Err())
		}
		_, err = io.Copy(&body, io.LimitReader(in, int64(limit-smallBody+1)))
	}
	if err := in.ended(int64(body.Len()), err); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// incoming is a body on its way in, unpacked.
type incoming struct {
	io.Reader
	req    *http.Request
	limit  int
	packed *io.LimitedReader
	gzip   *gzip.Reader // nil for one that is not packed
}

// incoming begins to read the body, of which at most limit bytes are wanted.
func (r *Call) incoming(limit int) (*incoming, error) {
	if err := mediaType(r.c.GetHeader("Content-Type")); err != nil {
		return nil, err
	}
	req := r.c.Request
	in := &incoming{req: req, limit: limit, packed: &io.LimitedReader{R: req.Body, N: int64(limit) + 1}}
	if req.ContentLength > int64(limit) {
		return nil, in.tooLarge()
	}
	in.Reader = in.packed
	switch encoding := strings.ToLower(r.c.GetHeader("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip":
		var err error
		if in.gzip, err = gzip.NewReader(in.packed); err != nil {
			return nil, message.BodyCompression.Error(nil)
		}
		in.Reader = in.gzip
	default:
		return nil, message.ContentEncoding.Error(message.Params{"value": encoding})
	}
	return in, nil
}

func (in *incoming) close() {
	if in.gzip != nil {
		in.gzip.Close()
	}
}

// ended tells what is wrong with a body of which n bytes were read, until an
// error or its end.
func (in *incoming) ended(n int64, err error) error {
	switch {
	case n > int64(in.limit), in.packed.N <= 0:
		return in.tooLarge()
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case in.gzip != nil:
		return message.BodyCompression.Error(nil)
	}
	return message.BodyIncomplete.Error(nil).Caused(err)
}

func (in *incoming) tooLarge() error {
	drain(in.req)
	return message.BodyTooLarge.Error(message.Params{"limit": in.limit})
}

// maxDrain is how much of a body that is too large is read and dropped.
const maxDrain = 32 << 20

// drain reads what a client goes on sending although it is too much: many see
// no answer before they have sent all. One that waits to be told has not begun.
func drain(req *http.Request) {
	if req.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, req.Body, maxDrain) // refused, however it ends
	}
}

// mediaType accepts JSON under the names that clients give it.
func mediaType(header string) error {
	if header == "" {
		return nil
	}
	media, _, err := mime.ParseMediaType(header)
	switch {
	case err != nil:
	case media == "application/json", strings.HasSuffix(media, "+json"), media == "text/plain", media == "application/x-www-form-urlencoded":
		return nil
	}
	return message.MediaType.Error(message.Params{"value": header})
}

// segments splits the escaped path behind /api/v1 and unescapes each part. A
// trailing slash changes nothing.
func segments(escaped string) ([]string, error) {
	rest, found := strings.CutPrefix(escaped, "/api/v1/")
	if !found {
		return nil, message.PathUnknown.Error(nil)
	}
	if rest = strings.TrimSuffix(rest, "/"); rest == "" {
		return nil, message.PathUnknown.Error(nil)
	}
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		unescaped, err := url.PathUnescape(part)
		if err != nil {
			return nil, message.PathUnknown.Error(nil)
		}
		parts[i] = unescaped
	}
	return parts, nil
}

// checkID refuses an id that no object of the type can have.
func checkID(t *schema.Type, id string) error {
	if !t.ValidID(id) {
		return message.BadID.Error(message.Params{"id": strings.ToValidUTF8(id, "\ufffd")})
	}
	return nil
}
