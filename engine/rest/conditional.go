package rest

import (
	"net/http"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest/header"
)

// conditions adds If-Match and If-None-Match of a write to an operation.
func conditions(sent http.Header, op *engine.Operation, one bool) error {
	for _, name := range []string{"If-Match", "If-None-Match"} {
		value, given := header.List(sent, name)
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
		if header.IsAny(value) {
			op.OnlyNew = true
			return true
		}
		compared, wanted = header.Weakly, false
	}
	list, ok := header.Tags(value)
	if any := header.IsAny(value); any || ok && (one || len(list) == 0) {
		op.IfVersion = func(version string) bool {
			return (before == nil || before(version)) && (any && version != "" || hasVersion(list, version, compared)) == wanted
		}
		return true
	}
	return false
}

// strongly prepares tags for a comparison in which a weak tag matches nothing (RFC 9110,
// section 8.8.3.2).
func strongly(tag string) string { return tag }

// hasVersion reports whether one of the tags is that of a version of the object. The
// version of an object that does not exist is "".
func hasVersion(list []string, version string, compared func(tag string) string) bool {
	return version != "" && slices.ContainsFunc(list, func(tag string) bool {
		text, _, found := strings.Cut(compared(tag), "-")
		return found && text == version
	})
}

// checkMatch returns an error if If-Match of a read does not match the entity tag of the
// object with an id.
func checkMatch(sent http.Header, etag, id string) error {
	value, given := header.List(sent, "If-Match")
	if !given || header.IsAny(value) {
		return nil
	}
	list, ok := header.Tags(value)
	if !ok {
		return message.HeaderInvalid.Error(message.Params{"header": "If-Match", "expected": "entity tags of one object, or *"})
	}
	if !slices.Contains(list, strings.Trim(etag, `"`)) {
		return message.VersionMismatch.Error(message.Params{"id": id})
	}
	return nil
}
