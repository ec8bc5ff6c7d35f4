package progress

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTook checks that the time of a step counts from its beginning.
func TestTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Steps
		s.Step("first")
		time.Sleep(3 * time.Second)
		s.Step("second")
		time.Sleep(time.Second)
		if took := s.Took(); took != time.Second {
			t.Errorf("%s", took)
		}
	})
}
