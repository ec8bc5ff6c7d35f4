package header

import (
	"slices"
	"strings"
)

// CompressedSuffixes distinguish the entity tags of compressed responses (RFC 9110,
// section 8.8.1).
var CompressedSuffixes = []string{"-gzip", "-zstd"}

// Tags splits a list of entity tags (RFC 9110, section 8.8.3), and keeps the W/ of
// weak ones; ok is false if the syntax is wrong, as with a space in a tag. The list and its
// elements may be empty (section 5.6.1). They are the tags of uncompressed responses.
func Tags(value string) (list []string, ok bool) {
	for rest := value; ; {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			return list, true
		}
		weak := ""
		if unmarked, found := strings.CutPrefix(rest, "W/"); found {
			rest, weak = unmarked, "W/"
		}
		if !strings.HasPrefix(rest, `"`) {
			return nil, false
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 || strings.ContainsFunc(rest[1:end+1], func(c rune) bool { return c <= ' ' || c == 0x7f }) {
			return nil, false
		}
		list = append(list, weak+Uncompressed(rest[1:end+1]))
		rest = strings.TrimLeft(rest[end+2:], " \t")
		if rest != "" && !strings.HasPrefix(rest, ",") {
			return nil, false
		}
	}
}

// Uncompressed returns the tag of the uncompressed response.
func Uncompressed(tag string) string {
	for _, suffix := range CompressedSuffixes {
		tag = strings.TrimSuffix(tag, suffix)
	}
	return tag
}

// Held returns the tag as the client has it, which differs from etag if the client
// holds a compressed response.
func Held(header, etag string) string {
	for _, suffix := range CompressedSuffixes {
		if packed := strings.TrimSuffix(etag, `"`) + suffix + `"`; strings.Contains(header, packed) {
			return packed
		}
	}
	return etag
}

// IsAny reports whether a condition is *, which any version meets.
func IsAny(value string) bool { return strings.Trim(value, " \t") == "*" }

// NotModified reports whether the client already has the response, by the value of
// If-None-Match.
func NotModified(value, etag string) bool {
	if IsAny(value) {
		return true
	}
	list, _ := Tags(value)
	return slices.ContainsFunc(list, func(tag string) bool { return `"`+Weakly(tag)+`"` == etag })
}

// Weakly prepares a tag for a comparison that ignores W/ (RFC 9110, section 8.8.3.2).
func Weakly(tag string) string { return strings.TrimPrefix(tag, "W/") }
