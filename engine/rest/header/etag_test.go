package header

import (
	"slices"
	"testing"
)

func TestTags(t *testing.T) {
	for header, want := range map[string][]string{
		`"1-a"`:                   {"1-a"},
		`"1-a-gzip", W/"2-b" ,""`: {"1-a", "W/2-b", ""},
		`"a,b"`:                   {"a,b"},
		`, "a",, ,"b",`:           {"a", "b"},
		``:                        {},
		` , ,`:                    {},
		`1-a`:                     nil,
		`"1-a`:                    nil,
		`"1-a" "2-b"`:             nil,
		`"1 a"`:                   nil,
		`*`:                       nil,
		`*, "a"`:                  nil,
	} {
		if got, ok := Tags(header); !slices.Equal(got, want) || ok != (want != nil) {
			t.Errorf("%s: %q, %t", header, got, ok)
		}
	}
}
