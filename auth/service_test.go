package auth

import (
	"errors"
	"testing"
	"time"

	"marquee/engine/message"
	"marquee/engine/store"
)

// A new password can be set after the old one has been checked, and before the tokens
// are created.
func TestNoTokensForTheOldPassword(t *testing.T) {
	service := serviceWithUser(t)
	if tokens, err := service.signIn(t.Context(), &attempt{user: "u", credential: 1}, ""); !message.InvalidGrant.Is(err) {
		t.Errorf("%v, %v", tokens, err)
	}
	if _, err := service.signIn(t.Context(), &attempt{user: "u", credential: 0}, ""); err != nil {
		t.Error(err)
	}
}

// A session is refreshed at most maxRefreshes times in refreshWindow.
func TestRefreshesAreBounded(t *testing.T) {
	service := serviceWithUser(t)
	now := tokenTime
	service.now = func() time.Time { return now }
	put := func(token string, grant refreshDocument) {
		t.Helper()
		err := service.store.Write(t.Context(), func(tx store.Tx) error { return service.putRefresh(t.Context(), tx, token, grant) })
		if err != nil {
			t.Fatal(err)
		}
	}
	put("last", refreshDocument{User: "u", Session: "s", Since: now.Add(-time.Hour), Count: maxRefreshes - 1})
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
