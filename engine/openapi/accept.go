package openapi

import (
	"mime"
	"strconv"
	"strings"
)

// prefersHTML reports whether a client that sends this header Accept would rather have
// HTML than JSON (RFC 9110, section 12.5.1).
func prefersHTML(accept string) bool {
	return quality(accept, "text/html") > quality(accept, "application/json")
}

// quality returns the quality value of a media type: that of the most specific range
// which contains it.
func quality(accept, mediaType string) (q float64) {
	kind, _, _ := strings.Cut(mediaType, "/")
	specific := 0
	for part := range strings.SplitSeq(accept, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		level := map[string]int{"*/*": 1, kind + "/*": 2, mediaType: 3}[name]
		if level <= specific {
			continue
		}
		specific, q = level, 1
		if given, err := strconv.ParseFloat(parameters["q"], 64); err == nil {
			q = given
		}
	}
	return q
}
