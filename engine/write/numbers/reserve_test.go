package numbers

import (
	"fmt"
	"testing"
)

// TestSequencesAreForgotten: a server remembers numbers of so many sequences at most, and
// of the last one.
func TestSequencesAreForgotten(t *testing.T) {
	s := New(nil, nil)
	var last Sequence
	for i := range maxSequences + 10 {
		last = Sequence{"invoices", fmt.Sprint(i), "number"}
		s.add(last, 0, span{1, 101})
	}
	if len(s.spans) > maxSequences || len(s.ends) > maxSequences {
		t.Errorf("%d and %d sequences are remembered", len(s.spans), len(s.ends))
	}
	if n, ok := s.Take(last, 1); n != 1 || !ok {
		t.Errorf("the first number is %d, %t", n, ok)
	}
}
