package files

import "testing"

// TestProblemIsOneLine: names in a file neither begin a line nor control a terminal.
func TestProblemIsOneLine(t *testing.T) {
	p := Problem{File: "a\x1b[2J.json", Pointer: "/properties/b\n1 schema, no mistakes", Text: "is\u009b wrong", Cure: "rename\tit", Objects: []string{"x\r"}, Line: 1}
	const want = "a\uFFFD[2J.json#/properties/b\uFFFD1 schema, no mistakes: is\uFFFD wrong: x\uFFFD (rename\uFFFDit), line 1"
	if got := p.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
