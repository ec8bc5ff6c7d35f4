package rest

import (
	"strings"
	"testing"
)

// TestLoggableIsBounded: the parameters in the log are short, also where a token was cut off.
func TestLoggableIsBounded(t *testing.T) {
	long := strings.Repeat("a", 5000)
	for _, value := range []string{long, long + "mq_" + strings.Repeat("b", 50)} {
		if text := (Parameters{"fields": value}).loggable(); len(text) > len("fields=…")+maxLoggedValue {
			t.Errorf("%d bytes", len(text))
		}
	}
}
