package session

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"marquee/auth/password"
	"marquee/auth/rights"
	"marquee/auth/signing"
	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// serviceWithUser returns a service with the user u.
func serviceWithUser(t *testing.T, now func() time.Time) *Service {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "store.db")})
	must(err)
	t.Cleanup(func() { s.Close() })
	must(s.EnsureCollections(ctx, slices.Concat(Collections(), password.Collections(), signing.Collections(),
		[]store.Collection{{Name: "users"}, {Name: "roles"}, {Name: "networks"}})))
	user := store.InternalWrite(store.Record{Key: store.Key{ID: "u"}}, "ACTIVE", []byte(`{"username":"u"}`), now())
	must(s.Write(ctx, func(tx store.Tx) error { return tx.Put(ctx, "users", []store.Write{user}) }))
	keys, err := signing.Open(ctx, signing.Config{Store: s, Access: time.Hour, Now: now})
	must(err)
	service, err := Open(ctx, Config{Store: s, Callers: rights.NewCallers(s, nil), Keys: keys, Attempts: password.NewAttempts(s, password.Limits{}, now),
		Access: time.Hour, Refresh: 30 * 24 * time.Hour, Reuse: 30 * time.Second, Now: now})
	must(err)
	return service
}

// A new password can be set after the old one has been checked, and before the tokens
// are created.
func TestNoTokensForTheOldPassword(t *testing.T) {
	service := serviceWithUser(t, time.Now)
	attempt, err := service.config.Attempts.SignIn(t.Context(), "192.0.2.1", "u")
	if err != nil {
		t.Fatal(err)
	}
	if tokens, err := service.begin(t.Context(), attempt, grant{User: "u", Session: "s", Credential: 1}, ""); !message.InvalidGrant.Is(err) {
		t.Errorf("%v, %v", tokens, err)
	}
	if _, err := service.begin(t.Context(), attempt, grant{User: "u", Session: "s"}, ""); err != nil {
		t.Error(err)
	}
}

// A session is refreshed at most maxRefreshes times in refreshWindow.
func TestRefreshesAreBounded(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	service := serviceWithUser(t, func() time.Time { return now })
	put := func(token string, g grant) {
		t.Helper()
		err := service.store.Write(t.Context(), func(tx store.Tx) error {
			g.Expires = service.expiry()
			return store.PutInternal(t.Context(), tx, refreshCollection, store.Record{Key: store.Key{ID: hash(token)}}, "ACTIVE", g, now)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put("last", grant{User: "u", Session: "s", Since: now.Add(-time.Hour), Count: maxRefreshes - 1})
	tokens, err := service.Refresh(t.Context(), "last", "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := service.Refresh(t.Context(), "last", "")
	if err != nil || again.RefreshToken != tokens.RefreshToken {
		t.Errorf("sent again, the token is refused: %v", err)
	}
	var refused *message.Error
	if _, err := service.Refresh(t.Context(), tokens.RefreshToken, ""); !message.AttemptsTooMany.Is(err) || !errors.As(err, &refused) || refused.RetryAfter != 23*time.Hour {
		t.Errorf("beyond the bound: %v %v", err, refused)
	}
	now = now.Add(23 * time.Hour)
	if _, err := service.Refresh(t.Context(), tokens.RefreshToken, ""); err != nil {
		t.Errorf("a day later: %v", err)
	}
}

// An access token is refused when its session, its user or its password has changed.
func TestTokensOfChangedUsers(t *testing.T) {
	service := serviceWithUser(t, time.Now)
	for name, c := range map[string]struct {
		claims signing.Claims
		valid  bool
	}{
		"itself":            {signing.Claims{User: "u", Session: "s"}, true},
		"an ended session":  {signing.Claims{User: "u", Session: "s", Epoch: 1}, false},
		"unknown user":      {signing.Claims{User: "v", Session: "s"}, false},
		"an older password": {signing.Claims{User: "u", Session: "s", Credential: 7}, false},
	} {
		token, err := service.config.Keys.Sign(t.Context(), c.claims)
		if err != nil {
			t.Fatal(err)
		}
		if caller, err := service.Caller(t.Context(), token); (err == nil) != c.valid || !c.valid && !message.TokenInvalid.Is(err) {
			t.Errorf("%s: %v, %v", name, caller, err)
		}
	}
}
