package document

import (
	"strings"

	"golang.org/x/net/idna"
)

// ASCIIHost returns the ASCII form of an international host name (RFC 5891), in
// which host names are stored. Other text is returned unchanged.
func ASCIIHost(name string) string {
	if isASCII(name) {
		return name
	}
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		return ascii
	}
	return name
}

// ASCIIHostOfURL returns a URL with its host in ASCII form.
func ASCIIHostOfURL(address string) string {
	start := strings.Index(address, "://")
	if start < 0 || isASCII(address) {
		return address
	}
	start += len("://")
	end := len(address)
	if i := strings.IndexAny(address[start:], `/?#`); i >= 0 {
		end = start + i
	}
	if i := strings.LastIndexByte(address[start:end], '@'); i >= 0 {
		start += i + 1
	}
	if i := strings.LastIndexByte(address[start:end], ':'); i >= 0 {
		end = start + i
	}
	return address[:start] + ASCIIHost(address[start:end]) + address[end:]
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
