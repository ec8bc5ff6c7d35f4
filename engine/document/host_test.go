package document

import "testing"

func TestASCIIHost(t *testing.T) {
	for name, want := range map[string]string{
		"example.com":       "example.com",
		"Example.COM":       "Example.COM",
		"bücher.example":    "xn--bcher-kva.example",
		"BÜCHER.example":    "xn--bcher-kva.example",
		"bücher。example":    "xn--bcher-kva.example",
		"blåbærsyltetøy.no": "xn--blbrsyltety-y8ao3x.no",
		"例え.テスト":            "xn--r8jz45g.xn--zckzah",
		"no host é":         "no host é",
		"":                  "",
	} {
		if got := ASCIIHost(name); got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
	for address, want := range map[string]string{
		"https://bücher.example/ü?ö#ä":       "https://xn--bcher-kva.example/ü?ö#ä",
		"https://ü:é@bücher.example:8443/":   "https://ü:é@xn--bcher-kva.example:8443/",
		"http://bücher.example?q":            "http://xn--bcher-kva.example?q",
		"https://example.com/ü":              "https://example.com/ü",
		"https://EXAMPLE.com/":               "https://EXAMPLE.com/",
		"mailto:ü@bücher.example":            "mailto:ü@bücher.example",
		"https://[::1]/ü":                    "https://[::1]/ü",
		"":                                   "",
		"https://xn--bcher-kva.example/x?ü=": "https://xn--bcher-kva.example/x?ü=",
	} {
		if got := ASCIIHostOfURL(address); got != want {
			t.Errorf("%q became %q, want %q", address, got, want)
		}
	}
}
