// Package embeddings is the client of an embeddings service with the OpenAI API. It may
// import trace and index, whose Embedder it implements; begin with New.
package embeddings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"marquee/engine/trace"
	"marquee/resources/article/index"
)

// Config is the configuration of a client.
type Config struct {
	// URL is the URL before /v1/embeddings, with or without the /v1.
	URL   string
	Model string
	// Key, if any, is sent as a bearer token.
	Key string
	// Timeout is that of one call, 10 s by default.
	Timeout time.Duration
	// Batch is the maximum number of texts of a call, 64 by default.
	Batch int
	// MaxText is the maximum number of characters sent of a text, 8,000 by default;
	// models do not read more.
	MaxText int
	// MaxAnswer is the maximum size of a response, 16 MiB by default.
	MaxAnswer int64
}

// Client calls an embeddings service. It never retries.
type Client struct {
	config   Config
	endpoint string
	client   *http.Client
}

var _ index.Embedder = (*Client)(nil)

// New checks a configuration, without calling the service.
func New(config Config) (*Client, error) {
	base, err := url.Parse(config.URL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, errors.New("the URL of the embeddings service must begin with http:// or https:// and a host")
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("the URL of the embeddings service must have no user, query or fragment")
	}
	if config.Model == "" {
		return nil, errors.New("the embeddings service needs the name of a model")
	}
	if strings.ContainsFunc(config.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the key of the embeddings service has characters that a header cannot have")
	}
	for _, number := range []int64{int64(config.Timeout), int64(config.Batch), int64(config.MaxText), config.MaxAnswer} {
		if number < 0 {
			return nil, errors.New("the limits of the embeddings service must not be negative")
		}
	}
	setDefault(&config.Timeout, 10*time.Second)
	setDefault(&config.Batch, 64)
	setDefault(&config.MaxText, 8000)
	setDefault(&config.MaxAnswer, int64(16<<20))
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &Client{
		config:   config,
		endpoint: strings.TrimSuffix(strings.TrimRight(base.String(), "/"), "/v1") + "/v1/embeddings",
		client: &http.Client{
			Transport: transport,
			Timeout:   config.Timeout,
			// Send the key and the articles only to the configured service.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Batch implements index.Embedder.
func (c *Client) Batch() int { return c.config.Batch }

// Embed implements index.Embedder. All errors are *index.UnavailableError.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	input := make([]string, len(texts))
	for i, text := range texts {
		input[i] = clipped(text, c.config.MaxText)
	}
	body, err := json.Marshal(map[string]any{"model": c.config.Model, "input": input})
	if err != nil {
		return nil, &index.UnavailableError{Reason: "the texts cannot be sent"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &index.UnavailableError{Reason: "its URL cannot be called"}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.config.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.Key)
	}
	if parent, traced := trace.Of(ctx); traced {
		request.Header.Set(trace.Header, parent.Child())
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, failedCall(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, failedStatus(response.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, c.config.MaxAnswer+1))
	if err != nil {
		return nil, failedCall(ctx, err)
	}
	if int64(len(answer)) > c.config.MaxAnswer {
		return nil, &index.UnavailableError{Reason: fmt.Sprintf("its answer has more than %d bytes", c.config.MaxAnswer)}
	}
	return vectorsOf(answer, len(texts))
}

// failedStatus returns the error for a response without vectors. It does not use the
// body, which may quote the key or the texts.
func failedStatus(status int) error {
	failed := &index.UnavailableError{Status: status, Reason: "it answered with a fault"}
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		failed.Refused = true
		failed.Reason = "it refuses the request"
	case http.StatusUnauthorized, http.StatusForbidden:
		failed.Reason = "it refuses the key"
	case http.StatusTooManyRequests:
		failed.Reason = "it is asked too often"
	}
	return failed
}

// failedCall returns the error for a call without a response. It does not wrap errors of
// net/http, which quote data.
func failedCall(ctx context.Context, err error) error {
	failed := &index.UnavailableError{Reason: "the connection failed"}
	var network net.Error
	var operation *net.OpError
	switch {
	case ctx.Err() != nil:
		failed.Reason, failed.Cause = "there was no time left", ctx.Err()
	case errors.As(err, &network) && network.Timeout():
		failed.Reason = "it did not answer in time"
	case errors.As(err, &operation) && operation.Op == "dial":
		failed.Reason = "it cannot be reached"
	}
	return failed
}

// vectorsOf decodes a response with a vector for each text.
func vectorsOf(answer []byte, texts int) ([][]float64, error) {
	var list struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float64 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, &index.UnavailableError{Reason: "its answer is not a list of embeddings"}
	}
	if len(list.Data) != texts {
		return nil, &index.UnavailableError{Reason: fmt.Sprintf("it gave %d embeddings for %d texts", len(list.Data), texts)}
	}
	vectors := make([][]float64, texts)
	for i, item := range list.Data {
		at := i
		if item.Index != nil {
			at = *item.Index
		}
		if at < 0 || at >= texts || vectors[at] != nil {
			return nil, &index.UnavailableError{Reason: "the indexes of its embeddings are wrong"}
		}
		if err := index.CheckVector(item.Embedding); err != nil {
			return nil, err
		}
		vectors[at] = item.Embedding
	}
	return vectors, nil
}

// clipped returns the first characters of a text.
func clipped(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}
