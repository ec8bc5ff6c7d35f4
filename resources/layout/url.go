package layout

import (
	"html"
	"strings"
	"unicode/utf8"
)

// refusedURL is what stands in the place of a URL that SafeURL refuses.
const refusedURL = "#"

// SafeURL reports whether a URL is rendered as it is. Its scheme must be http,
// https or none, and it must hold nothing that browsers drop or rewrite before
// they look for the scheme. A URL that only reads so once its character
// references are resolved is judged by that reading too.
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
