package command

import "testing"

// TestOpeningHasAStep: there is a step from the beginning, before the store is opened.
func TestOpeningHasAStep(t *testing.T) {
	if step := newOpening("the store", nil).String(); step != readingSchemas {
		t.Errorf("the step is %q", step)
	}
}
