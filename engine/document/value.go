package document

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// TimeLayout is the layout of stored times: RFC 3339 in UTC with milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// CanonicalTime converts an ISO 8601 date-time to its stored form. A time without
// an offset is in UTC (specification, rule 1.10).
func CanonicalTime(s string) (string, bool) {
	t, ok := ParseTime(s)
	if !ok {
		return "", false
	}
	return FormatTime(t), true
}

// timeLayouts are the accepted layouts: RFC 3339, and ISO 8601 without seconds or
// with an offset without minutes or colon. Seconds may have a fraction.
var timeLayouts = func() (layouts []string) {
	for _, clock := range []string{"15:04:05", "15:04"} {
		for _, offset := range []string{"Z07:00", "", "Z0700", "Z07"} {
			layouts = append(layouts, "2006-01-02T"+clock+offset)
		}
	}
	return layouts
}()

// ParseTime parses an ISO 8601 date-time, in UTC if it has no offset.
func ParseTime(s string) (time.Time, bool) {
	s = strings.ToUpper(s) // RFC 3339 allows t and z
	for _, layout := range timeLayouts {
		t, err := time.Parse(layout, s)
		if err != nil || !strictTime(s) {
			continue
		}
		if t = t.UTC(); t.Year() >= 1 && t.Year() <= 9999 {
			return t.Truncate(time.Millisecond), true
		}
	}
	return time.Time{}, false
}

// strictTime reports whether a parsed time has an hour of two digits and an offset of at
// most 23:59. Package time also accepts T9:00, +24:00 and +01:60.
func strictTime(s string) bool {
	if !TwoDigitHour(s) {
		return false
	}
	sign := strings.LastIndexAny(s, "+-")
	return sign < len("2006-01-02T") || s[sign+1:sign+3] < "24" && (len(s) == sign+3 || s[len(s)-2:] < "60")
}

// TwoDigitHour reports whether the hour of a parsed date-time has two digits, which package
// time does not require.
func TwoDigitHour(s string) bool { return s[len("2006-01-02T15")] == ':' }

// FormatTime formats a time as it is stored.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }

// AppendTime appends a time, formatted as it is stored, as a JSON string.
func AppendTime(dst []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(dst, '"'), TimeLayout), '"')
}

// MaxIDBytes is the maximum length of an id.
const MaxIDBytes = 256

// ValidID reports whether an object can have the id: 1 to MaxIDBytes bytes of
// UTF-8 without control characters, other than the path segments "." and "..".
func ValidID(id string) bool {
	return id != "" && len(id) <= MaxIDBytes && id != "." && id != ".." &&
		utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

// PlainName reports whether a name consists of ASCII letters, digits, _ and -, so that it can
// be part of a dotted path.
func PlainName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// Clone returns a deep copy of a value.
func Clone(value any) any {
	switch v := value.(type) {
	case []any:
		items := slices.Clone(v)
		for i, item := range items {
			items[i] = Clone(item)
		}
		return items
	case map[string]any:
		members := maps.Clone(v)
		for name, member := range members {
			members[name] = Clone(member)
		}
		return members
	}
	return value
}

// Equal reports whether two values are equal.
func Equal(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, Equal)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// FieldChange is the change of one member in an object's history.
type FieldChange struct {
	Field    string
	From, To any
	// Was and Set report whether From and To are present, rather than null.
	Was, Set bool
}

// Diff returns the top-level members that differ, sorted by name.
func Diff(from, to map[string]any) []FieldChange {
	names := make([]string, 0, len(to))
	for name, was := range from {
		if now, set := to[name]; !set || !Equal(was, now) {
			names = append(names, name)
		}
	}
	for name := range to {
		if _, was := from[name]; !was {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	changes := make([]FieldChange, len(names))
	for i, name := range names {
		was, before := from[name]
		now, set := to[name]
		changes[i] = FieldChange{Field: name, From: was, To: now, Was: before, Set: set}
	}
	return changes
}

// Redact returns a copy of a value without secrets and write-only members.
func (s *Shape) Redact(value any) any {
	if s == nil || s.Plain {
		return value
	}
	switch v := value.(type) {
	case []any:
		items := make([]any, 0, len(v))
		for i, item := range v {
			if inner := s.Item(i); inner == nil || !inner.Secret && !inner.WriteOnly {
				items = append(items, inner.Redact(item))
			}
		}
		return items
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, member := range v {
			inner := s.Member(name)
			switch {
			case inner == nil:
				members[name] = member
			case !inner.Secret && !inner.WriteOnly:
				members[name] = inner.Redact(member)
			}
		}
		return members
	}
	return value
}

// Unsealable calls found with the position of each secret value that cannot be
// sealed because it is not a string.
func (s *Shape) Unsealable(value any, found func(at Pointer)) {
	s.unsealable(value, make(Pointer, 0, 8), found)
}

func (s *Shape) unsealable(value any, at Pointer, found func(at Pointer)) {
	if s == nil || !s.HasSecrets || value == nil {
		return
	}
	if _, text := value.(string); s.Secret && !text {
		found(at)
		return
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			s.Item(i).unsealable(item, at.Index(i), found)
		}
	case map[string]any:
		for name, member := range v {
			s.Member(name).unsealable(member, at.At(name), found)
		}
	}
}

// Secrets replaces every secret string of a document by the result of each.
func (s *Shape) Secrets(value any, each func(at Pointer, secret string) (string, error)) error {
	if !s.HasSecrets {
		return nil
	}
	return s.ReplaceTexts(value, func(of *Shape, at Pointer, text string) (string, error) {
		if !of.Secret {
			return text, nil
		}
		return each(at, text)
	})
}

// ReplaceTexts replaces every string within a value by the result of each, to which it passes
// the shape of the string, AnyShape if there is none.
func (s *Shape) ReplaceTexts(value any, each func(of *Shape, at Pointer, text string) (string, error)) error {
	return s.replaceTexts(value, make(Pointer, 0, 16), each)
}

func (s *Shape) replaceTexts(value any, at Pointer, each func(*Shape, Pointer, string) (string, error)) error {
	replace := func(of *Shape, value any, at Pointer, set func(string)) error {
		if of == nil {
			of = AnyShape
		}
		text, is := value.(string)
		if !is {
			return of.replaceTexts(value, at, each)
		}
		other, err := each(of, at, text)
		if err == nil {
			set(other)
		}
		return err
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if err := replace(s.Item(i), item, at.Index(i), func(text string) { v[i] = text }); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, member := range v {
			if err := replace(s.Member(name), member, at.At(name), func(text string) { v[name] = text }); err != nil {
				return err
			}
		}
	}
	return nil
}

// Strings returns the strings in an array.
func Strings(array any) []string {
	items, _ := array.([]any)
	list := make([]string, 0, len(items))
	for _, item := range items {
		if text, ok := item.(string); ok {
			list = append(list, text)
		}
	}
	return list
}

// Array returns an array of strings.
func Array(strings []string) []any {
	array := make([]any, len(strings))
	for i, text := range strings {
		array[i] = text
	}
	return array
}
