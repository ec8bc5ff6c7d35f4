package auth

import (
	"testing"

	"marquee/engine/message"
)

// Another password may be set after the one before has been checked, and
// before the tokens are made.
func TestNoTokensForThePasswordBefore(t *testing.T) {
	service := serviceWithUser(t)
	if tokens, err := service.issue(t.Context(), "u", 1, "", nil); !message.InvalidGrant.Is(err) {
		t.Errorf("%v, %v", tokens, err)
	}
	if _, err := service.issue(t.Context(), "u", 0, "", nil); err != nil {
		t.Error(err)
	}
}
