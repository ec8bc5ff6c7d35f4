package auth

import (
	"slices"
	"testing"
	"time"

	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// begun signs in, and fails the test if that is refused.
func begun(t *testing.T, s *Service) *Tokens {
	t.Helper()
	tokens, err := s.Password(t.Context(), "192.0.2.1", "reader-east", rightWord, "")
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func refreshed(t *testing.T, s *Service, tokens *Tokens) *Tokens {
	t.Helper()
	next, err := s.Refresh(t.Context(), tokens.RefreshToken, "")
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// ended fails the test unless the tokens are refused.
func ended(t *testing.T, s *Service, tokens *Tokens) {
	t.Helper()
	if _, err := s.Refresh(t.Context(), tokens.RefreshToken, ""); !message.InvalidGrant.Is(err) {
		t.Errorf("the refresh token: %v", err)
	}
	if _, err := s.Caller(t.Context(), tokens.AccessToken); !message.TokenInvalid.Is(err) {
		t.Errorf("the access token: %v", err)
	}
}

func records(t *testing.T, s *Service, collection string) (n int64) {
	t.Helper()
	err := s.store.Read(t.Context(), func(r store.Snapshot) (err error) {
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
	_, service := engineWithUsers(t)
	service.MaxSessions = 3
	first := begun(t, service)
	for range 2*forgetRound + 1 {
		first = refreshed(t, service, first)
	}
	second, third := begun(t, service), begun(t, service)
	if err := service.Revoke(t.Context(), second.RefreshToken); err != nil {
		t.Fatal(err)
	}
	fourth := begun(t, service)
	first = refreshed(t, service, first) // goes on, as one of three
	fifth := begun(t, service)
	ended(t, service, first)
	ended(t, service, second)
	if n := records(t, service, refreshCollection); n != 3 {
		t.Errorf("%d refresh tokens are stored", n)
	}
	for _, tokens := range []*Tokens{third, fourth, fifth} {
		if _, err := service.Caller(t.Context(), tokens.AccessToken); err != nil {
			t.Error(err)
		}
		refreshed(t, service, tokens)
	}
	if _, err := service.Password(t.Context(), "192.0.2.1", "reader-west", rightWord, ""); err != nil {
		t.Errorf("another user: %v", err)
	}
}

// However sessions end, those that follow do not find more and more in the store.
func TestEndedSessionsLeaveNothing(t *testing.T) {
	_, service, advance := limited(t)
	service.MaxSessions = 3
	for i := range 40 {
		tokens := begun(t, service)
		if i%2 == 0 {
			tokens = refreshed(t, service, tokens)
		}
		switch i % 4 {
		case 1:
			if err := service.Revoke(t.Context(), tokens.AccessToken); err != nil {
				t.Fatal(err)
			}
		case 3:
			if err := service.EndSessions(t.Context(), "reader east"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := records(t, service, refreshCollection); n > 6 {
		t.Errorf("%d refresh tokens are stored", n)
	}
	advance(service.lifetimes.Access + 2*clockSkew)
	if err := service.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := records(t, service, sessionCollection); n > 4 {
		t.Errorf("%d sessions are stored", n)
	}
}

// What a sign-in could not delete is deleted by the next one. A session from which
// tokens have expired keeps its end until the others have.
func TestForgettingIsResumed(t *testing.T) {
	_, service, advance := limited(t)
	service.MaxSessions = 1
	old := begun(t, service)
	advance(20 * 24 * time.Hour)
	old = refreshed(t, service, old)
	advance(11 * 24 * time.Hour)
	old = refreshed(t, service, old)
	if err := service.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	begun(t, service)
	ended(t, service, old)
	advance(service.lifetimes.Access + 2*clockSkew)
	if err := service.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended(t, service, old)

	err := service.store.Write(t.Context(), func(tx store.Tx) error {
		record, sessions, err := readUserSessions(t.Context(), tx, "reader east")
		if err != nil {
			return err
		}
		sessions.Forgetting, sessions.Live = slices.Clone(sessions.Live), nil
		return service.putUserSessions(t.Context(), tx, record, sessions)
	})
	if err != nil {
		t.Fatal(err)
	}
	before := records(t, service, refreshCollection)
	begun(t, service)
	if n := records(t, service, refreshCollection); n != before {
		t.Errorf("%d refresh tokens are stored, %d before", n, before)
	}
}
