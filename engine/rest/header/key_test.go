package header

import (
	"strings"
	"testing"
)

func TestKey(t *testing.T) {
	long := strings.Repeat("k", maxKey)
	for value, want := range map[string]string{
		"8e03978e-40d5": "8e03978e-40d5", `"8e03978e-40d5"`: "8e03978e-40d5", `a"b\c`: `a"b\c`, `"a\"b\\c"`: `a"b\c`, "~!,;": "~!,;",
		long: long, `"` + long + `"`: long,
		"": "", `"`: "", `""`: "", `"a`: "", `"a"b"`: "", `"a\"`: "", `"a\b"`: "", `"a";p=1`: "", "a b": "", `"a b"`: "", "a, b": "", "ä": "", "a\x7f": "", long + "k": "",
	} {
		if got, ok := Key(value); got != want && ok || ok != (want != "") {
			t.Errorf("%q: %q, %t", value, got, ok)
		}
	}
}
