package layout

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// stepsOf returns the number of steps that placing the slots takes.
func stepsOf(t *testing.T, html string) int {
	t.Helper()
	slots, faults := findSlots(html)
	if len(faults) > 0 {
		return len(html) // it is read no further
	}
	m, err := placeSlots(context.Background(), html, slots)
	if err != nil {
		t.Fatal(err)
	}
	return m.steps
}

// The number of steps grows in proportion to the length of the html.
func TestParsingIsLinear(t *testing.T) {
	const length = 20_000
	short, long := hostileTemplates(length), hostileTemplates(4*length)
	for i := range short {
		n, m := stepsOf(t, short[i]), stepsOf(t, long[i])
		if n < length/10 || m > 5*n {
			t.Errorf("%.30q: %d steps, and %d for four times the length", short[i], n, m)
		}
	}
}

// The deadline of a request ends parsing.
func TestParsingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, html := range []string{strings.Repeat("<p>{{a}}</p>", 1000), "<p>"} {
		if template, faults, err := Parse(ctx, html); template != nil || faults != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%.10q: %v, %v, %v", html, template, faults, err)
		}
	}
}
