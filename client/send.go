package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// send sends a request until it is answered, and decodes the JSON of the response into
// out, unless that is nil.
func (c *Client) send(ctx context.Context, r *request, out any) (*response, error) {
	var last error // of the attempt before
	refused := ""
	for attempt := 1; ; attempt++ {
		token := ""
		if !r.anonymous {
			var err error
			if token, err = c.session.access(ctx, c, refused); err != nil {
				return nil, both(err, last)
			}
		}
		answer, err := c.try(ctx, r, token)
		switch {
		case err == nil:
			return answer, answer.decode(out)
		case errors.Is(err, errOnce):
			return nil, c.outcome(r, last)
		case HasStatus(err, http.StatusUnauthorized) && !r.anonymous && token == "":
			return nil, both(ErrSignedOut, err)
		case HasStatus(err, http.StatusUnauthorized) && !r.anonymous && refused == "":
			refused, last = token, err
			attempt--
			continue
		}
		wait, again := c.again(r, err, attempt)
		if end, limited := ctx.Deadline(); !again || limited && time.Until(end) < wait {
			return nil, c.outcome(r, err)
		}
		if !pause(ctx, wait) {
			return nil, both(ctx.Err(), c.outcome(r, err))
		}
		last = err
	}
}

// both returns an error that is two; the second may be nil.
func both(err, cause error) error {
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// pause waits, and reports whether the context has not ended meanwhile.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// again reports whether a request that has failed is sent again, and after which time.
// A request that the server has not carried out is always repeated. What it may have
// carried out is repeated if that changes nothing.
func (c *Client) again(r *request, err error, attempt int) (wait time.Duration, again bool) {
	var refused *Error
	var unread *contentError
	switch {
	case attempt >= c.options.Attempts, errors.Is(err, context.Canceled), errors.As(err, &unread):
		return 0, false
	case errors.As(err, &refused):
		again = refused.Status == http.StatusTooManyRequests && !refused.Has(codeKeysTooMany) ||
			refused.Status == http.StatusServiceUnavailable && len(refused.Messages) > 0 && !refused.Has(CodeOutcomeUnknown) ||
			refused.Has(CodeConflict) ||
			unknown(err) && r.idempotent
		wait = refused.RetryAfter
	default:
		again = r.idempotent || !unknown(err)
	}
	// From 100 to 200 ms, doubled with each attempt: random, so that clients which were
	// refused at once do not come back at once.
	backoff := (100*time.Millisecond + rand.N(100*time.Millisecond)) << min(attempt-1, 10) // #nosec G404 -- nothing secret depends on it
	wait = max(wait, min(backoff, c.options.MaxWait))
	return wait, again && wait <= c.options.MaxWait
}

// unknown reports whether a request that has failed may have been carried out: its
// response was lost, a proxy did not wait for it, or the server says so.
func unknown(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		byProxy := len(refused.Messages) == 0 && refused.OAuth == ""
		return refused.Has(CodeOutcomeUnknown) || byProxy && refused.Status >= http.StatusBadGateway && refused.Status <= http.StatusGatewayTimeout
	}
	var undialled *net.OpError
	var unread *contentError
	return !(errors.As(err, &undialled) && undialled.Op == "dial" || errors.As(err, &unread))
}

// outcome returns the error of a request that is not repeated.
func (c *Client) outcome(r *request, err error) error {
	if reads(r.method) || r.anonymous || !unknown(err) {
		return err
	}
	return both(ErrOutcomeUnknown, err)
}

// try sends a request once. The error is an Error if the server refuses it.
func (c *Client) try(ctx context.Context, r *request, token string) (*response, error) {
	var content *body
	if r.body != nil {
		var err error
		if content, err = r.body(); err != nil {
			return nil, err
		}
		defer content.end()
	}
	q, err := http.NewRequestWithContext(ctx, r.method, c.url(r.path, r.query), nil)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if content != nil {
		q.Body, q.ContentLength = content, content.size
	}
	for name, values := range r.header {
		q.Header[name] = values
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := c.options.HTTP.Do(q)
	if err != nil {
		if fault := content.fault(); fault != nil {
			return nil, fault
		}
		return nil, err
	}
	defer a.Body.Close()
	read, err := io.ReadAll(a.Body)
	if err != nil {
		return nil, fmt.Errorf("client: the response ends early: %w", err)
	}
	answer := &response{status: a.StatusCode, header: a.Header, body: read}
	if c.options.Warning != nil {
		for _, text := range a.Header.Values("Warning") {
			c.options.Warning(r.method, r.path, text)
		}
	}
	if a.StatusCode >= http.StatusMultipleChoices {
		return nil, problem(answer)
	}
	return answer, nil
}

// body is the content of a request. The transport may still read it when the response
// is there, but not after end, so that what it is read from can be read again.
type body struct {
	mu    sync.Mutex
	from  io.Reader
	size  int64 // -1 is unknown
	stop  func()
	ended bool
	err   error
}

func newBody(from io.Reader, size int64, stop func()) *body {
	return &body{from: from, size: size, stop: stop}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, io.ErrClosedPipe
	}
	n, err := b.from.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.end()
	return nil
}

func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended && b.stop != nil {
		b.stop()
	}
	b.ended = true
}

// fault returns the error with which reading the content has failed, or nil.
func (b *body) fault() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		return nil
	}
	return &contentError{b.err}
}

// contentError says that the content of a request cannot be read, so that the server
// has not received it.
type contentError struct{ cause error }

func (e *contentError) Error() string {
	return "client: the content of the request cannot be read: " + e.cause.Error()
}

func (e *contentError) Unwrap() error { return e.cause }
