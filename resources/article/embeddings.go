package article

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// EmbeddingsConfig says where an embeddings service is, and what may be asked
// of it.
type EmbeddingsConfig struct {
	// URL is what /v1/embeddings follows; it may have the /v1 already.
	URL   string
	Model string
	// Key is sent as a bearer token, if there is one.
	Key string
	// Timeout is for one call: 10 s by default.
	Timeout time.Duration
	// Batch is how many texts a call has at most: 64 by default.
	Batch int
	// MaxText is how many characters of a text are sent: 8,000 by default, as
	// models read only so many.
	MaxText int
	// MaxAnswer is how many bytes an answer may have: 16 MiB by default.
	MaxAnswer int64
}

// Embeddings calls an embeddings service. It never tries again by itself.
type Embeddings struct {
	config   EmbeddingsConfig
	endpoint string
	client   *http.Client
}

var _ Embedder = (*Embeddings)(nil)

// NewEmbeddings checks a configuration. It calls nobody.
func NewEmbeddings(config EmbeddingsConfig) (*Embeddings, error) {
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
	return &Embeddings{
		config:   config,
		endpoint: strings.TrimSuffix(strings.TrimRight(base.String(), "/"), "/v1") + "/v1/embeddings",
		client: &http.Client{
			Transport: transport,
			Timeout:   config.Timeout,
			// The key and the articles go to the configured service only.
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

// Close gives back connections that are not in use.
func (e *Embeddings) Close() { e.client.CloseIdleConnections() }

// Batch is how many texts a call takes at most.
func (e *Embeddings) Batch() int { return e.config.Batch }

// Embed asks for the vectors of texts, in their order. It fails with an
// *UnavailableError, or gives a vector of finite numbers for each.
func (e *Embeddings) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	input := make([]string, len(texts))
	for i, text := range texts {
		input[i] = clipped(text, e.config.MaxText)
	}
	body, err := json.Marshal(map[string]any{"model": e.config.Model, "input": input})
	if err != nil {
		return nil, &UnavailableError{Reason: "the texts cannot be sent"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &UnavailableError{Reason: "its URL cannot be called"}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if e.config.Key != "" {
		request.Header.Set("Authorization", "Bearer "+e.config.Key)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, failedCall(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, failedStatus(response.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, e.config.MaxAnswer+1))
	if err != nil {
		return nil, failedCall(ctx, err)
	}
	if int64(len(answer)) > e.config.MaxAnswer {
		return nil, &UnavailableError{Reason: fmt.Sprintf("its answer has more than %d bytes", e.config.MaxAnswer)}
	}
	return vectorsOf(answer, len(texts))
}

// failedStatus tells an answer that has no vectors. Its body may quote the key
// or the texts, so it is not read.
func failedStatus(status int) error {
	failed := &UnavailableError{Status: status, Reason: "it answered with a fault"}
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

// failedCall tells why there is no answer. Errors of HTTP quote what they could
// not read, so they are not passed on.
func failedCall(ctx context.Context, err error) error {
	failed := &UnavailableError{Reason: "the connection failed"}
	var network net.Error
	var operation *net.OpError
	switch {
	case ctx.Err() != nil:
		failed.Reason, failed.cause = "there was no time left", ctx.Err()
	case errors.As(err, &network) && network.Timeout():
		failed.Reason = "it did not answer in time"
	case errors.As(err, &operation) && operation.Op == "dial":
		failed.Reason = "it cannot be reached"
	}
	return failed
}

// vectorsOf reads an answer with a vector for each of a number of texts.
func vectorsOf(answer []byte, texts int) ([][]float64, error) {
	var list struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float64 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, &UnavailableError{Reason: "its answer is not a list of embeddings"}
	}
	if len(list.Data) != texts {
		return nil, &UnavailableError{Reason: fmt.Sprintf("it gave %d embeddings for %d texts", len(list.Data), texts)}
	}
	vectors := make([][]float64, texts)
	for i, item := range list.Data {
		at := i
		if item.Index != nil {
			at = *item.Index
		}
		if at < 0 || at >= texts || vectors[at] != nil {
			return nil, &UnavailableError{Reason: "the indexes of its embeddings are wrong"}
		}
		if err := checkVector(item.Embedding); err != nil {
			return nil, err
		}
		vectors[at] = item.Embedding
	}
	return vectors, nil
}

// checkVector refuses vectors that have no direction that could be computed.
func checkVector(vector []float64) error {
	var square float64
	for _, x := range vector {
		square += x * x
	}
	if len(vector) == 0 || math.IsInf(square, 0) || math.IsNaN(square) {
		return &UnavailableError{Reason: "an embedding is empty, or not finite"}
	}
	return nil
}

// clipped is the beginning of a text, of so many characters.
func clipped(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}
