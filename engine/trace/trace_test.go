package trace

import (
	"strings"
	"testing"
)

const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

func TestParse(t *testing.T) {
	valid := "00-" + id + "-" + parent + "-01"
	for _, c := range []struct {
		value string
		valid bool
	}{
		{valid, true},
		{"00-" + id + "-" + parent + "-00", true},
		{"00-" + id + "-" + parent + "-ff", true},
		{"01-" + id + "-" + parent + "-01", true},
		{"cc-" + id + "-" + parent + "-01-what the future brings", true},
		{"", false},
		{valid + "-x", false},
		{valid + "x", false},
		{"01-" + id + "-" + parent + "-01x", false},
		{"ff-" + id + "-" + parent + "-01", false},
		{"00-" + strings.ToUpper(id) + "-" + parent + "-01", false},
		{"00-" + strings.Repeat("0", 32) + "-" + parent + "-01", false},
		{"00-" + id + "-" + strings.Repeat("0", 16) + "-01", false},
		{"00-" + id[1:] + "-" + parent + "-01", false},
		{"00_" + id + "-" + parent + "-01", false},
		{"00-" + id + "-" + parent + "-0g", false},
		{" " + valid, false},
		{"00-" + id[:31] + "\n-" + parent + "-01", false},
	} {
		if p := Parse([]string{c.value}); (p.TraceID == id) != c.valid || !c.valid && p != (Parent{}) {
			t.Errorf("%q is %v", c.value, p)
		}
	}
	if Parse(nil) != (Parent{}) || Parse([]string{valid, valid}) != (Parent{}) {
		t.Error("none, or two of them, are a trace")
	}
	if n := testing.AllocsPerRun(100, func() { Parse(nil) }); n != 0 {
		t.Errorf("%v allocations for a request that is not traced", n)
	}
	values := []string{valid}
	if n := testing.AllocsPerRun(100, func() { Parse(values) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestChild(t *testing.T) {
	for flags, sampled := range map[string]string{"00": "00", "01": "01", "02": "00", "03": "01", "0a": "00", "0b": "01", "fe": "00", "ff": "01"} {
		p := Parse([]string{"00-" + id + "-" + parent + "-" + flags})
		child := p.Child()
		if again := Parse([]string{child}); again.TraceID != id || !strings.HasSuffix(child, "-"+sampled) || strings.Contains(child, parent) {
			t.Errorf("with %s, the child is %s", flags, child)
		}
		if child == p.Child() {
			t.Error("two children have one id")
		}
	}
}
