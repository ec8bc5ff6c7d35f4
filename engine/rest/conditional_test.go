package rest

import (
	"slices"
	"testing"
)

func TestTags(t *testing.T) {
	for header, want := range map[string][]string{
		`"1-a"`:                   {"1-a"},
		`"1-a-gzip", W/"2-b" ,""`: {"1-a", "W/2-b", ""},
		`"a,b"`:                   {"a,b"},
		``:                        nil,
		`1-a`:                     nil,
		`"1-a`:                    nil,
		`"1-a" "2-b"`:             nil,
		`*`:                       nil,
	} {
		if got, ok := tags(header); !slices.Equal(got, want) || ok != (want != nil) {
			t.Errorf("%s: %q, %t", header, got, ok)
		}
	}
}

// Of a tag, a write compares the version alone.
func TestIfMatch(t *testing.T) {
	for _, c := range []struct {
		header  string
		version int64
		want    bool
	}{
		{`"3-abc"`, 3, true}, {`"3-other"`, 3, true}, {`"3-abc"`, 4, false}, {`"30-abc"`, 3, false}, {`"03-abc"`, 3, false},
		{`"3"`, 3, false}, {`"2-a", "3-b"`, 3, true}, {`*`, 3, true}, {`*`, 0, false}, {`"0-a"`, 0, false},
		{`W/"3-abc"`, 3, false}, {`W/"3-abc", "3-b"`, 3, true},
	} {
		match, err := ifMatch(c.header, true)
		if err != nil || match(c.version) != c.want {
			t.Errorf("%s and version %d: %v, want %t", c.header, c.version, err, c.want)
		}
	}
	for _, header := range []string{`3-abc`, `"3-abc`, `,`} {
		if _, err := ifMatch(header, true); err == nil {
			t.Errorf("%s is taken", header)
		}
	}
	if _, err := ifMatch(`"3-abc"`, false); err == nil {
		t.Error("a tag of one object is taken for many")
	}
}
