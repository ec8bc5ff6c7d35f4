// Package client sends requests to a Marquee server: it signs in and renews the access
// token, iterates over lists, repeats what is safe to repeat, and returns what the
// server refuses as an Error with its messages. It imports the standard library alone.
// Begin with New, and with Of for the objects of a type.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options configure a Client. Each field may be left out.
type Options struct {
	// HTTP sends the requests; nil is http.DefaultClient. A timeout of its own should
	// be longer than the longest request of the server, which is 30 seconds for most,
	// and two minutes for uploads.
	HTTP *http.Client
	// Tokens are those of an earlier session, or an API token in Access.
	Tokens Tokens
	// Renewed receives each new pair of tokens, so that a program can continue the
	// session later. It must not call the Client.
	Renewed func(Tokens)
	// Attempts is the maximum number of times that a request is sent; 0 is 5, and 1 repeats nothing.
	Attempts int
	// MaxWait is the longest time between two attempts; 0 is a minute. A server that
	// asks for more time is not asked again.
	MaxWait time.Duration
	// Warning receives the text of each Warning header, such as the name of a property
	// that the server does not know and has dropped. Several goroutines may call it at
	// once.
	Warning func(method, path, text string)
}

// Client is a client of one server. Several goroutines may use it at once.
type Client struct {
	base    url.URL
	options Options
	session session
}

// New returns a client of the server at an address, such as https://ads.example. A path
// in it is put before those of the API.
func New(address string, options Options) (*Client, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("client: %w", err)
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" || base.User != nil:
		return nil, fmt.Errorf("client: the address must be an http or https URL without a user, parameters or a fragment")
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	if options.HTTP == nil {
		options.HTTP = http.DefaultClient
	}
	options.Attempts = cmp.Or(max(options.Attempts, 0), 5)
	options.MaxWait = cmp.Or(max(options.MaxWait, 0), time.Minute)
	return &Client{base: *base, options: options, session: session{turn: make(chan struct{}, 1), tokens: options.Tokens}}, nil
}

// Network returns a view of the client for requests about the objects of a network.
// For "", no network is named, which suffices for global types such as users.
func (c *Client) Network(id string) *Network { return &Network{c, id} }

// Network is a network of a server: what the parameter context names.
type Network struct {
	client *Client
	id     string
}

func (n *Network) query(more url.Values) url.Values {
	query := url.Values{}
	for name, values := range more {
		query[name] = values
	}
	if n.id != "" {
		query.Set("context", n.id)
	}
	return query
}

// Do sends a request with in as its JSON body, or without a body if it is nil, and
// decodes the JSON of the response into out, unless that is nil. The path may have a
// query. GET, HEAD and OPTIONS are repeated after a lost response, and others are not.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	path, rawQuery, _ := strings.Cut(path, "?")
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	r := &request{method: method, path: path, query: query, idempotent: reads(method)}
	if err := r.json(in); err != nil {
		return err
	}
	_, err = c.send(ctx, r, out)
	return err
}

// reads reports whether requests with a method change nothing.
func reads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// request is a request that can be sent several times.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	// body returns a new body for each attempt; nil is none.
	body func() (*body, error)
	// idempotent says that the request has the same effect if it is carried out twice.
	idempotent bool
	// anonymous requests have no token.
	anonymous bool
}

func (r *request) set(name, value string) {
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set(name, value)
}

// json sets a body in JSON, unless the value is nil.
func (r *request) json(value any) error {
	if value == nil {
		return nil
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	r.bytes("application/json", encoded)
	return nil
}

func (r *request) bytes(contentType string, content []byte) {
	r.set("Content-Type", contentType)
	r.body = func() (*body, error) { return newBody(bytes.NewReader(content), int64(len(content)), nil), nil }
}

// response is an answer that has been read.
type response struct {
	status int
	header http.Header
	body   []byte
}

// decode stores the JSON of the response in a value; without a body, it leaves the
// value as it is.
func (r *response) decode(out any) error {
	if out == nil || len(r.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.body, out); err != nil {
		return fmt.Errorf("client: the response cannot be decoded: %w", err)
	}
	return nil
}

// url returns the URL of a path, of which segments may be percent-encoded.
func (c *Client) url(path string, query url.Values) string {
	address := c.base.String() + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

// errForeign says that a request is not for the server of the client.
var errForeign = errors.New("client: the request is for another server, which must not receive the token")

// Transport returns what sends the requests of an http.Client to the server with the
// access token of c, which it renews, for what this package has no function for. The
// http.Client of Options must not use it.
func (c *Client) Transport() http.RoundTripper { return transport{c} }

type transport struct{ *Client }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != t.base.Scheme || r.URL.Host != t.base.Host {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errForeign
	}
	token, err := t.session.access(r.Context(), t.Client, "")
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return cmp.Or(t.options.HTTP.Transport, http.DefaultTransport).RoundTrip(r)
}
