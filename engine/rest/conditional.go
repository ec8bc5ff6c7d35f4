package rest

import (
	"strconv"
	"strings"

	"marquee/engine"
	"marquee/engine/message"
)

// tags splits a list of entity tags (RFC 9110, part 8.8.3), a weak one with its
// W/ before it; ok is false when the header is none.
func tags(header string) (list []string, ok bool) {
	for rest := strings.TrimSpace(header); rest != ""; {
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
		rest = strings.TrimSpace(rest[end+2:])
		if rest != "" && !strings.HasPrefix(rest, ",") {
			return nil, false
		}
		rest = strings.TrimSpace(strings.TrimPrefix(rest, ","))
	}
	return list, len(list) > 0
}

// plainTag is the tag of what a compressed answer was before.
func plainTag(tag string) string {
	for _, suffix := range compressedSuffixes {
		tag = strings.TrimSuffix(tag, suffix)
	}
	return tag
}

// heldTag is the tag by which a client names what it holds, as If-None-Match
// has it: that of the compressed answer, where it holds that one.
func heldTag(header, etag string) string {
	for _, suffix := range compressedSuffixes {
		if packed := strings.TrimSuffix(etag, `"`) + suffix + `"`; strings.Contains(header, packed) {
			return packed
		}
	}
	return etag
}

// conditions reads If-Match and If-None-Match of a write. Only the version of
// a tag counts: the rest speaks of how the caller sees the object.
func (r *Call) conditions(op *engine.Operation, one bool) error {
	if header := r.c.GetHeader("If-Match"); header != "" {
		match, err := ifMatch(header, one)
		if err != nil {
			return err
		}
		op.IfVersion = match
	}
	switch header := strings.TrimSpace(r.c.GetHeader("If-None-Match")); header {
	case "":
	case "*":
		op.OnlyNew = true
	default:
		return message.HeaderInvalid.Error(message.Params{"header": "If-None-Match", "expected": "* on a write"})
	}
	return nil
}

// ifMatch compares strongly (RFC 9110, part 13.1.1): a weak tag is of no
// version.
func ifMatch(header string, one bool) (func(int64) bool, error) {
	if strings.TrimSpace(header) == "*" {
		return func(version int64) bool { return version > 0 }, nil
	}
	list, ok := tags(header)
	if !ok || !one {
		return nil, message.HeaderInvalid.Error(message.Params{"header": "If-Match", "expected": "entity tags of one object, or *"})
	}
	return func(version int64) bool {
		for _, tag := range list {
			if text, _, found := strings.Cut(tag, "-"); found && version > 0 && text == strconv.FormatInt(version, 10) {
				return true
			}
		}
		return false
	}, nil
}

// notModified reports whether the client has what would be sent
// (If-None-Match on a read).
func notModified(header, etag string) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	list, _ := tags(header)
	for _, tag := range list {
		if `"`+strings.TrimPrefix(tag, "W/")+`"` == etag {
			return true
		}
	}
	return false
}
