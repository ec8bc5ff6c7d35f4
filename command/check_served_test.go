package command

import (
	"errors"
	"testing"
)

// TestOneCheckAtATime: a server refuses a check while another one runs.
func TestOneCheckAtATime(t *testing.T) {
	s := &service{checks: newChecks()}
	s.checks.running.Lock()
	if err := s.check(t.Context(), nil, nil, nil); !errors.Is(err, errChecking) {
		t.Errorf("the error is %v", err)
	}
	if why := s.whyFailed(nil, errChecking); why != errChecking.Error() {
		t.Errorf("the client is told %q", why)
	}
	s.checks.end()
	if why := s.whyFailed(nil, t.Context().Err()); why != "the server is shutting down" {
		t.Errorf("at the end, the client is told %q", why)
	}
}
