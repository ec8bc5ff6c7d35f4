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
// weak ones; ok is false if the syntax is wrong. The list and its elements may be
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
		if end < 0 {
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

// conditions reads If-Match and If-None-Match of a write. Only the version in a tag
// counts: the rest depends on what the caller can see of the object.
func (r *Call) conditions(op *engine.Operation, one bool) error {
	match, err := r.versions("If-Match", one, strongly)
	if err != nil {
		return err
	}
	other, err := r.versions("If-None-Match", one, weakly)
	if err != nil {
		return err
	}
	if value, given := field(r.c.Request.Header, "If-None-Match"); given && isAny(value) {
		op.OnlyNew, other = true, nil
	}
	if match != nil || other != nil {
		op.IfVersion = func(version string) bool {
			return (match == nil || match(version)) && (other == nil || !other(version))
		}
	}
	return nil
}

func isAny(value string) bool { return strings.Trim(value, " \t") == "*" }

// strongly and weakly prepare tags for comparison (RFC 9110, section 8.8.3.2): in a
// strong comparison, a weak tag matches nothing; in a weak one, W/ is ignored.
func strongly(tag string) string { return tag }
func weakly(tag string) string   { return strings.TrimPrefix(tag, "W/") }

// versions returns whether a header names a version of the object, or nil if the
// header is absent. The version of an object that does not exist is "".
func (r *Call) versions(name string, one bool, compared func(tag string) string) (func(version string) bool, error) {
	value, given := field(r.c.Request.Header, name)
	if !given {
		return nil, nil
	}
	if isAny(value) {
		return func(version string) bool { return version != "" }, nil
	}
	list, ok := tags(value)
	if !ok || !one && len(list) > 0 {
		return nil, message.HeaderInvalid.Error(message.Params{"header": name, "expected": "entity tags of one object, or *"})
	}
	return func(version string) bool {
		for _, tag := range list {
			if text, _, found := strings.Cut(compared(tag), "-"); found && version != "" && text == version {
				return true
			}
		}
		return false
	}, nil
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
