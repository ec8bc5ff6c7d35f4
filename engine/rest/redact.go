package rest

import (
	"net/url"
	"regexp"
	"strings"
)

// tokenInPath matches the beginning of an access token in a path: a parameter
// with its name, a JSON Web Token, or an API token.
var tokenInPath = regexp.MustCompile(`(?i:auth_token\s*=)|eyJ[\w-]{8,}\.[\w-]{8,}\.|mq_[\w-]{40,}`)

var escaped = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// maxUnescape is the maximum number of times a path is unescaped in search of a token.
const maxUnescape = 4

// withoutToken returns a path that can be logged and sent to clients: it is cut
// off where a token begins. Found reports whether there was one.
func withoutToken(path string) (safe string, found bool) {
	if !strings.ContainsAny(path, "%=") && !strings.Contains(path, "eyJ") && !strings.Contains(path, "mq_") {
		return path, false // no token, without the cost of the regular expression
	}
	text := path
	for range maxUnescape {
		if at := tokenInPath.FindStringIndex(text); at != nil {
			return text[:at[0]] + "[redacted]", true
		}
		if !strings.Contains(text, "%") {
			break
		}
		text = escaped.ReplaceAllStringFunc(text, func(code string) string {
			plain, err := url.PathUnescape(code)
			if err != nil {
				return code
			}
			return plain
		})
	}
	return path, false
}

// loggedValues are the parameters whose values the log can have, and loggedNames those that it
// has by their names alone, because objects or people may be recognised by their values.
var (
	loggedValues = []string{"count", "excludeIfMissing", "fieldValidation", "fields", "filterBy", "mine", "orderBy", "orderByDirection", "page", "pageSize", "type", "validateOnly"}
	loggedNames  = []string{"cursor", "filterByLike", "filterByNotLike", "filterByValue", "id", "q", "sentence", "where"}
)

// maxLoggedValue is the maximum number of bytes of a value in the log.
const maxLoggedValue = 200

// loggable returns the parameters as the log can have them. It leaves out unknown ones, whose
// names are also chosen by the client.
func (p Parameters) loggable() string {
	var parts []string
	for _, name := range loggedValues {
		value, given := p[name]
		if !given {
			continue
		}
		if value, _ = withoutToken(value); len(value) > maxLoggedValue {
			value = value[:maxLoggedValue] + "…"
		}
		parts = append(parts, name+"="+strings.ToValidUTF8(value, ""))
	}
	for _, name := range loggedNames {
		if _, given := p[name]; given {
			parts = append(parts, name+"=…")
		}
	}
	return strings.Join(parts, "&")
}

// instance returns the escaped path of a request for a problem document.
func instance(path *url.URL) string {
	safe, found := withoutToken(path.Path)
	if !found {
		return path.EscapedPath()
	}
	return (&url.URL{Path: safe}).EscapedPath()
}
