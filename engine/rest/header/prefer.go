package header

import (
	"net/http"
	"strings"
)

// The preferences of a client that writes (RFC 7240, section 4.2). Unknown and
// malformed preferences are ignored, and so are contradictory ones.
const (
	NoPreference         = ""
	ReturnMinimal        = "return=minimal"
	ReturnRepresentation = "return=representation"
)

// Return returns which response to a write the client prefers.
func Return(header http.Header) string {
	value, _ := List(header, "Prefer")
	found := NoPreference
	for _, preference := range Split(value, ',') {
		// Parameters are not defined for this preference.
		preference = Split(preference, ';')[0]
		name, word, _ := strings.Cut(preference, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "return") {
			continue
		}
		word = strings.TrimSpace(word)
		if len(word) > 1 && word[0] == '"' && word[len(word)-1] == '"' {
			word = word[1 : len(word)-1]
		}
		switch one := "return=" + word; {
		case one != ReturnMinimal && one != ReturnRepresentation:
		case found != NoPreference && found != one:
			return NoPreference
		default:
			found = one
		}
	}
	return found
}
