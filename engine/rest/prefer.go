package rest

import (
	"net/http"
	"strings"
)

// The preferences of a client that writes (RFC 7240, section 4.2). Unknown and
// malformed preferences are ignored, and so are contradictory ones.
const (
	noPreference         = ""
	returnMinimal        = "return=minimal"
	returnRepresentation = "return=representation"
)

// returnPreference returns which response to a write the client prefers.
func returnPreference(header http.Header) string {
	value, _ := field(header, "Prefer")
	found := noPreference
	for _, preference := range splitQuoted(value, ',') {
		// Parameters are not defined for this preference.
		preference = splitQuoted(preference, ';')[0]
		name, word, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "return") {
			continue
		}
		word = strings.TrimSpace(word)
		if len(word) > 1 && word[0] == '"' && word[len(word)-1] == '"' {
			word = word[1 : len(word)-1]
		}
		switch one := "return=" + word; {
		case one != returnMinimal && one != returnRepresentation:
		case found != noPreference && found != one:
			return noPreference
		default:
			found = one
		}
	}
	return found
}

// splitQuoted splits the value of a header at separators outside quotes.
func splitQuoted(value string, separator byte) []string {
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

// prefersMinimal reports whether the client prefers a successful write to have a
// minimal response, and sets Preference-Applied. A response that shows something once is
// never minimal, and must not be cached.
func (r *Call) prefersMinimal(once bool) bool {
	preference := returnPreference(r.c.Request.Header)
	if once {
		r.c.Header("Cache-Control", "no-store")
		if preference == returnMinimal {
			preference = noPreference
		}
	}
	if preference != noPreference {
		r.c.Header("Preference-Applied", preference)
	}
	return preference == returnMinimal
}

// empty sends a response without a body.
func (r *Call) empty(status int) error {
	r.c.Status(status)
	r.c.Writer.WriteHeaderNow()
	return nil
}
