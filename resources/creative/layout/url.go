package layout

import (
	"html"
	"strings"
	"unicode/utf8"
)

// refusedURL replaces a URL that SafeURL rejects.
const refusedURL = "#"

// SafeURL reports whether a URL can be rendered unchanged: its scheme is http,
// https or none, and it has no characters that browsers drop or rewrite before
// they determine the scheme. This must also hold once character references in the
// URL are resolved.
func SafeURL(url string) bool {
	return plainURL(url) && plainURL(html.UnescapeString(url))
}

func plainURL(url string) bool {
	if !utf8.ValidString(url) || strings.HasPrefix(url, " ") || strings.HasSuffix(url, " ") {
		return false
	}
	for i := range len(url) {
		if url[i] < ' ' || url[i] == 0x7f || url[i] == '\\' {
			return false
		}
	}
	end := strings.IndexAny(url, ":/?#")
	if end < 0 || url[end] != ':' {
		return true
	}
	return strings.EqualFold(url[:end], "http") || strings.EqualFold(url[:end], "https")
}
