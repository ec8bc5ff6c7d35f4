package message_test

import (
	"testing"

	"marquee/engine/message"
)

// TestEveryMessageIsExplained checks that each kind of error, and each type of other
// messages, has an explanation.
func TestEveryMessageIsExplained(t *testing.T) {
	for kind := message.None + 1; kind <= message.Unavailable; kind++ {
		if kind.Help() == "" {
			t.Errorf("the kind %d has no explanation", kind)
		}
	}
	for _, d := range message.BuiltIn().All() {
		if d.Help() == "" {
			t.Errorf("%s has no explanation", d.Code)
		}
	}
}
