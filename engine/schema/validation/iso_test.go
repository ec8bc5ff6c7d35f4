package validation

import "testing"

func TestCodeLists(t *testing.T) {
	if len(countries) != 249 || len(currencies) != 179 {
		t.Errorf("%d countries, %d currencies", len(countries), len(currencies))
	}
}
