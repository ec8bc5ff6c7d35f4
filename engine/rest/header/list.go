// Package header reads the fields of requests whose syntax net/http leaves to its callers:
// lists, entity tags, preferences, and the addresses that proxies name. It imports listen.
// Begin with List, Tags and Proxies.
package header

import (
	"net/http"
	"strings"
)

// List returns the value of a header whose lines form one list (RFC 9110, section
// 5.3); given is false without such a line. An empty value is an empty list.
func List(header http.Header, name string) (value string, given bool) {
	lines := header.Values(name)
	return strings.Join(lines, ", "), len(lines) > 0
}

// Split splits the value of a header at separators outside quotes.
func Split(value string, separator byte) []string {
	var parts []string
	quoted, start := false, 0
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			parts, start = append(parts, value[start:i]), i+1
		}
	}
	return append(parts, value[start:])
}
