package rest

import (
	"net/http"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/message"
)

// field returns the value of a header whose lines form one list (RFC 9110, section
// 5.3); given is false without such a line. An empty value is an empty list.
func field(header http.Header, name string) (value string, given bool) {
	lines := header.Values(name)
	return strings.Join(lines, ", "), len(lines) > 0
}

// tags splits a list of entity tags (RFC 9110, section 8.8.3), and keeps the W/ of
// weak ones; ok is false if the syntax is wrong, as with a space in a tag. The list and its elements may be
// empty (section 5.6.1).
func tags(value string) (list []string, ok bool) {
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
		list = append(list, weak+plainTag(rest[1:end+1]))
		rest = strings.TrimLeft(rest[end+2:], " \t")
		if rest != "" && !strings.HasPrefix(rest, ",") {
			return nil, false
		}
	}
}

// plainTag returns the tag of the uncompressed response.
func plainTag(tag string) string {
	for _, suffix := range compressedSuffixes {
		tag = strings.TrimSuffix(tag, suffix)
	}
	return tag
}

// heldTag returns the tag as the client has it, which differs from etag if the client
// holds a compressed response.
func heldTag(header, etag string) string {
	for _, suffix := range compressedSuffixes {
		if packed := strings.TrimSuffix(etag, `"`) + suffix + `"`; strings.Contains(header, packed) {
			return packed
		}
	}
	return etag
}

// conditions reads If-Match and If-None-Match of a write.
func (r *Call) conditions(op *engine.Operation, one bool) error {
	for _, name := range []string{"If-Match", "If-None-Match"} {
		value, given := field(r.c.Request.Header, name)
		if given && !restrict(op, name, value, one) {
			return message.HeaderInvalid.Error(message.Params{"header": name, "expected": "entity tags of one object, or *"})
		}
	}
	return nil
}

// restrict adds the condition of a header to an operation; ok is false if its syntax is
// wrong, or if it has tags and the request has more than one object. Only the version in
// a tag counts: the rest depends on what the caller can see of the object.
func restrict(op *engine.Operation, name, value string, one bool) (ok bool) {
	before, compared, wanted := op.IfVersion, strongly, true
	if name == "If-None-Match" {
		if isAny(value) {
			op.OnlyNew = true
			return true
		}
		compared, wanted = weakly, false
	}
	list, ok := tags(value)
	if any := isAny(value); any || ok && (one || len(list) == 0) {
		op.IfVersion = func(version string) bool {
			return (before == nil || before(version)) && (any && version != "" || hasVersion(list, version, compared)) == wanted
		}
		return true
	}
	return false
}

func isAny(value string) bool { return strings.Trim(value, " \t") == "*" }

// strongly and weakly prepare tags for comparison (RFC 9110, section 8.8.3.2): in a
// strong comparison, a weak tag matches nothing; in a weak one, W/ is ignored.
func strongly(tag string) string { return tag }
func weakly(tag string) string   { return strings.TrimPrefix(tag, "W/") }

// hasVersion reports whether one of the tags is that of a version of the object. The
// version of an object that does not exist is "".
func hasVersion(list []string, version string, compared func(tag string) string) bool {
	return version != "" && slices.ContainsFunc(list, func(tag string) bool {
		text, _, found := strings.Cut(compared(tag), "-")
		return found && text == version
	})
}

// checkMatch returns an error if If-Match of a read does not match the response.
func (r *Call) checkMatch(etag, id string) error {
	value, given := field(r.c.Request.Header, "If-Match")
	if !given || isAny(value) {
		return nil
	}
	list, ok := tags(value)
	if !ok {
		return message.HeaderInvalid.Error(message.Params{"header": "If-Match", "expected": "entity tags of one object, or *"})
	}
	if !slices.Contains(list, strings.Trim(etag, `"`)) {
		return message.VersionMismatch.Error(message.Params{"id": id})
	}
	return nil
}

// notModified reports whether the client already has the response, by the value of
// If-None-Match.
func notModified(value, etag string) bool {
	if isAny(value) {
		return true
	}
	list, _ := tags(value)
	return slices.ContainsFunc(list, func(tag string) bool { return `"`+weakly(tag)+`"` == etag })
}
