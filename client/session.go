package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ErrSignedOut says that there is no session: nobody has signed in, or the session has
// ended. Sign in again.
var ErrSignedOut = errors.New("client: not signed in")

// Tokens are the tokens of a session, or an API token.
type Tokens struct {
	// Access is sent with each request.
	Access string `json:"access"`
	// Refresh is exchanged for the next pair. An API token has none.
	Refresh string `json:"refresh,omitempty"`
	// Expiry is when Access ends; the zero time is not known.
	Expiry time.Time `json:"expiry,omitzero"`
}

const (
	// early is the time before its end at which an access token is renewed, as clocks differ.
	early = 30 * time.Second
	// renewTime is the time limit of a renewal with all of its attempts: for 30 seconds,
	// the server answers a refresh token that it has seen with the same successor.
	renewTime = 25 * time.Second
)

// session has the tokens of a client.
type session struct {
	// turn is held by the goroutine that uses tokens. It is a channel, as those who wait
	// for it look at their context.
	turn   chan struct{}
	tokens Tokens
}

func (s *session) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) unlock() { <-s.turn }

// SignIn begins a session with a password, which is not kept. Too many failed sign-ins
// are refused with the status 429.
func (c *Client) SignIn(ctx context.Context, username, password string) error {
	if err := c.session.lock(ctx); err != nil {
		return err
	}
	defer c.session.unlock()
	return c.grant(ctx, url.Values{"grant_type": {"password"}, "username": {username}, "password": {password}})
}

// SignOut ends the session, or revokes the API token, and forgets the tokens.
func (c *Client) SignOut(ctx context.Context) error {
	if err := c.session.lock(ctx); err != nil {
		return err
	}
	defer c.session.unlock()
	token := c.session.tokens.Refresh
	if token == "" {
		token = c.session.tokens.Access
	}
	if token == "" {
		return nil
	}
	r := &request{method: http.MethodPost, path: "/api/authenticate/revoke", anonymous: true, idempotent: true}
	r.bytes("application/x-www-form-urlencoded", []byte(url.Values{"token": {token}}.Encode()))
	if _, err := c.send(ctx, r, nil); err != nil {
		return err
	}
	c.session.tokens = Tokens{}
	return nil
}

// access returns the access token, "" if there never was one. It is renewed if it has
// ended, or if it is the one that the server has refused.
func (s *session) access(ctx context.Context, c *Client, refused string) (string, error) {
	if err := s.lock(ctx); err != nil {
		return "", err
	}
	defer s.unlock()
	t := s.tokens
	ended := !t.Expiry.IsZero() && time.Until(t.Expiry) < early
	switch {
	case t.Access != "" && t.Access != refused && !ended:
		return t.Access, nil
	case t.Refresh == "" && (refused == "" || t.Access != refused): // by the server's clock, it may be valid
		return t.Access, nil
	case t.Refresh == "":
		return "", ErrSignedOut
	}
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	err := c.grant(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {t.Refresh}})
	var problem *Error
	if errors.As(err, &problem) && problem.OAuth == "invalid_grant" {
		s.tokens = Tokens{}
		return "", fmt.Errorf("%w: %w", ErrSignedOut, err)
	}
	return s.tokens.Access, err
}

// grant requests tokens. The caller has the turn.
func (c *Client) grant(ctx context.Context, form url.Values) error {
	r := &request{method: http.MethodPost, path: "/api/authenticate", anonymous: true, idempotent: true}
	r.bytes("application/x-www-form-urlencoded", []byte(form.Encode()))
	var answer struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Expires string `json:"expires_in"`
	}
	began := time.Now()
	if _, err := c.send(ctx, r, &answer); err != nil {
		return err
	}
	t := Tokens{Access: answer.Access, Refresh: answer.Refresh}
	if seconds, err := strconv.Atoi(answer.Expires); err == nil {
		// Of a short life, at least the first half is used.
		life := time.Duration(seconds) * time.Second
		t.Expiry = began.Add(max(life, min(life/2+early, life+early)))
	}
	c.session.tokens = t
	if c.options.Renewed != nil {
		c.options.Renewed(t)
	}
	return nil
}
