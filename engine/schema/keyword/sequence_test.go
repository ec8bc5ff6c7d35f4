package keyword

import "testing"

// TestSequenceNumbers reads the number of each value that a sequence gives, and of no other.
func TestSequenceNumbers(t *testing.T) {
	text, whole := Sequence{Start: 10, Text: true, Prefix: "A-", Suffix: "/1"}, Sequence{Start: 10}
	for _, n := range []int64{10, 11, 99, 100, MaxNumber} {
		for _, s := range []Sequence{text, whole} {
			if is, ok := s.Number(s.Value(n)); !ok || is != n {
				t.Errorf("%v is read as %d, %v", s.Value(n), is, ok)
			}
		}
	}
	for _, value := range []any{"A-9/1", "A-010/1", "A-+10/1", "A-/1", "A-10", "10/1", "A-9007199254740992/1", "A-99999999999999999999/1", "A-1 0/1", int64(10), true, nil} {
		if n, ok := text.Number(value); ok {
			t.Errorf("%v is read as %d", value, n)
		}
	}
	for _, value := range []any{int64(9), int64(MaxNumber + 1), int64(-10), 10.5, "10", nil} {
		if n, ok := whole.Number(value); ok {
			t.Errorf("%v is read as %d", value, n)
		}
	}
}
