package auth

import (
	"testing"

	"marquee/engine/message"
)

// A new password can be set after the old one has been checked, and before the tokens
// are created.
func TestNoTokensForTheOldPassword(t *testing.T) {
	service := serviceWithUser(t)
	if tokens, err := service.signIn(t.Context(), "u", 1, ""); !message.InvalidGrant.Is(err) {
		t.Errorf("%v, %v", tokens, err)
	}
	if _, err := service.signIn(t.Context(), "u", 0, ""); err != nil {
		t.Error(err)
	}
}
