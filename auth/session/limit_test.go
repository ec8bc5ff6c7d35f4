package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"marquee/auth"
	"marquee/auth/authtest"
	"marquee/auth/session"
	"marquee/auth/signing"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// bounded returns a service with a limit of sessions, and what puts its clock forward.
func bounded(t *testing.T, sessions int) (*engine.Engine, *auth.Service, func(time.Duration)) {
	t.Helper()
	clock, set := authtest.NewClock()
	e, service := authtest.New(t, set, func(c *auth.Config) { c.MaxSessions = sessions })
	return e, service, clock.Advance
}

// begun signs in, and fails the test if that is refused.
func begun(t *testing.T, s *auth.Service) *session.Tokens {
	t.Helper()
	tokens, err := s.Sessions.SignIn(t.Context(), "192.0.2.1", "reader-east", authtest.Password, "")
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func refreshed(t *testing.T, s *auth.Service, tokens *session.Tokens) *session.Tokens {
	t.Helper()
	next, err := s.Sessions.Refresh(t.Context(), tokens.RefreshToken, "")
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// ended fails the test unless the tokens are refused.
func ended(t *testing.T, s *auth.Service, tokens *session.Tokens) {
	t.Helper()
	if _, err := s.Sessions.Refresh(t.Context(), tokens.RefreshToken, ""); !message.InvalidGrant.Is(err) {
		t.Errorf("the refresh token: %v", err)
	}
	if _, err := s.Caller(t.Context(), tokens.AccessToken); !message.TokenInvalid.Is(err) {
		t.Errorf("the access token: %v", err)
	}
}

func records(t *testing.T, s store.Store, collection string) (n int64) {
	t.Helper()
	err := s.Read(t.Context(), func(r store.Snapshot) (err error) {
		n, err = r.Count(t.Context(), query.Query{Collection: collection})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Beyond the limit, the session that began first ends, with all of its tokens, however
// often it was refreshed; the sessions that were revoked do not count.
func TestSessionsOfAUserAreBounded(t *testing.T) {
	e, service, _ := bounded(t, 3)
	first := begun(t, service)
	for range 101 {
		first = refreshed(t, service, first)
	}
	second, third := begun(t, service), begun(t, service)
	if _, err := service.Sessions.Revoke(t.Context(), second.RefreshToken); err != nil {
		t.Fatal(err)
	}
	fourth := begun(t, service)
	first = refreshed(t, service, first) // goes on, as one of three
	fifth := begun(t, service)
	ended(t, service, first)
	ended(t, service, second)
	if n := records(t, e.Store, "auth_refresh"); n != 3 {
		t.Errorf("%d refresh tokens are stored", n)
	}
	for _, tokens := range []*session.Tokens{third, fourth, fifth} {
		if _, err := service.Caller(t.Context(), tokens.AccessToken); err != nil {
			t.Error(err)
		}
		refreshed(t, service, tokens)
	}
	if _, err := service.Sessions.SignIn(t.Context(), "192.0.2.1", "reader-west", authtest.Password, ""); err != nil {
		t.Errorf("another user: %v", err)
	}
}

// However sessions end, those that follow do not find more and more in the store.
func TestEndedSessionsLeaveNothing(t *testing.T) {
	e, service, advance := bounded(t, 3)
	for i := range 40 {
		tokens := begun(t, service)
		if i%2 == 0 {
			tokens = refreshed(t, service, tokens)
		}
		switch i % 4 {
		case 1:
			if _, err := service.Sessions.Revoke(t.Context(), tokens.AccessToken); err != nil {
				t.Fatal(err)
			}
		case 3:
			if err := service.Sessions.EndAll(t.Context(), "reader east"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := records(t, e.Store, "auth_refresh"); n > 6 {
		t.Errorf("%d refresh tokens are stored", n)
	}
	advance(auth.DefaultLifetimes.Access + 2*signing.ClockSkew)
	if err := service.Sessions.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := records(t, e.Store, "auth_sessions"); n > 4 {
		t.Errorf("%d sessions are stored", n)
	}
}

// What a sign-in could not delete is deleted by the next one. A session from which
// tokens have expired keeps its end until the others have.
func TestForgettingIsResumed(t *testing.T) {
	e, service, advance := bounded(t, 1)
	old := begun(t, service)
	advance(20 * 24 * time.Hour)
	old = refreshed(t, service, old)
	advance(11 * 24 * time.Hour)
	old = refreshed(t, service, old)
	if err := service.Sessions.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	begun(t, service)
	ended(t, service, old)
	advance(auth.DefaultLifetimes.Access + 2*signing.ClockSkew)
	if err := service.Sessions.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended(t, service, old)

	err := e.Store.Write(t.Context(), func(tx store.Tx) error {
		const collection = "auth_user_sessions"
		var was store.Record
		sessions := map[string]any{}
		err := tx.Get(t.Context(), collection, []store.Key{{ID: "reader east"}}, func(r *store.Record) error {
			was = *r
			return json.Unmarshal(r.Document, &sessions)
		})
		if err != nil {
			return err
		}
		sessions["forgetting"], sessions["live"] = sessions["live"], nil
		content, err := json.Marshal(sessions)
		if err != nil {
			return err
		}
		return tx.Put(t.Context(), collection, []store.Write{store.InternalWrite(was, "ACTIVE", content, time.Now())})
	})
	if err != nil {
		t.Fatal(err)
	}
	before := records(t, e.Store, "auth_refresh")
	begun(t, service)
	if n := records(t, e.Store, "auth_refresh"); n != before {
		t.Errorf("%d refresh tokens are stored, %d before", n, before)
	}
}
