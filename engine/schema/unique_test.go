package schema

import (
	"strings"
	"testing"
)

func TestUsernameForm(t *testing.T) {
	f := UniqueForm{Property: "username", Form: UsernameForm}
	for value, want := range map[string]string{
		"kari": "kari", "KARI": "kari", "Kari@Example.COM": "kari@example.com", "Ｋａｒｉ": "kari",
		"A\u030ase": "åse", "ÅSE": "åse", "Σίσυφος": "σίσυφος", "岡田": "岡田", "!#$%&'*+/=?^_`{|}~": "!#$%&'*+/=?^_`{|}~",
	} {
		if got, ok := f.Of(value); !ok || got != want {
			t.Errorf("%q has the form %q, not %q", value, got, want)
		}
	}
	for _, value := range []string{"", " ", "a b", "a\u00a0b", "a\tb", "a\x00", "\u200b", "①", "♚", "henryⅣ", "a\u0627", "\xff", "a\u202eb"} {
		if got, ok := f.Of(value); ok {
			t.Errorf("%q has the form %q", value, got)
		}
	}
}

// FuzzUsernameForm checks that a form is its own form, and that of the name in
// capitals.
func FuzzUsernameForm(f *testing.F) {
	for _, value := range []string{"kari", "KARI.ÅSE", "Ｋａｒｉ", "o'neill", "\u1e9e", "İ", "ǅ", "a b", "ﬁ"} {
		f.Add(value)
	}
	u := UniqueForm{Property: "username", Form: UsernameForm}
	f.Fuzz(func(t *testing.T, value string) {
		form, ok := u.Of(value)
		if !ok {
			return
		}
		if again, ok := u.Of(form); !ok || again != form {
			t.Errorf("%q: %q, and then %q", value, form, again)
		}
		if strings.ToLower(form) != form && strings.ToValidUTF8(form, "") == form {
			t.Errorf("%q has capitals: %q", value, form)
		}
	})
}
