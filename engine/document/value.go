package document

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// TimeLayout is the one form of a stored time: RFC 3339, UTC, milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// CanonicalTime brings an ISO 8601 date-time into its stored form. A time
// without an offset is in UTC (specification, rule 1.10).
func CanonicalTime(s string) (string, bool) {
	t, ok := ParseTime(s)
	if !ok {
		return "", false
	}
	return FormatTime(t), true
}

// ParseTime reads an ISO 8601 date-time, in UTC where it names no offset.
func ParseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		t, err := time.Parse(layout, strings.ToUpper(s)) // RFC 3339 takes t and z as well
		if err != nil {
			continue
		}
		if t = t.UTC(); t.Year() >= 1 && t.Year() <= 9999 {
			return t.Truncate(time.Millisecond), true
		}
	}
	return time.Time{}, false
}

// FormatTime writes a time in its stored form.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }

// MaxIDBytes is how long an id may be.
const MaxIDBytes = 256

// ValidID reports whether an id can be one of an object's: 1 to MaxIDBytes
// bytes of UTF-8 without control characters, and no dot segment of a path.
func ValidID(id string) bool {
	return id != "" && len(id) <= MaxIDBytes && id != "." && id != ".." &&
		utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

// Clone copies a value deeply.
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

// Equal compares two values.
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

// Merge applies a normalised patch to a stored document, which may be nil for
// a new one: a member that is absent is left alone, one that is present
// replaces the stored one whole, and null removes it. Then defaults are filled
// in: all of them in a new document, otherwise those of removed members. The
// stored document is not changed.
func Merge(shape *Shape, stored, patch map[string]any) map[string]any {
	merged := maps.Clone(stored)
	if merged == nil {
		merged = make(map[string]any, len(patch)+4)
	}
	for name, value := range patch {
		if value != nil {
			merged[name] = value
			continue
		}
		delete(merged, name)
		if member := shape.Properties[name]; stored != nil && member != nil && member.HasDefault {
			merged[name] = Clone(member.Default)
		}
	}
	if stored == nil {
		fillDefaults(shape, merged)
	}
	return merged
}

// FieldChange is one line of an object's history.
type FieldChange struct {
	Field    string
	From, To any
	// Set and Was tell an absent value from null.
	Was, Set bool
}

// Diff lists the top-level members that differ, in the order of their names.
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

// Redact is a copy of a value without what is never shown: its secrets, and
// what is only written.
func (s *Shape) Redact(value any) any {
	if s == nil || s.Plain {
		return value
	}
	switch v := value.(type) {
	case []any:
		if s.Items != nil && s.Items.Secret {
			return []any{}
		}
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = s.Items.Redact(item)
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

// Secrets calls each for every secret string of a document and replaces it by
// what each returns.
func (s *Shape) Secrets(value any, each func(at Pointer, secret string) (string, error)) error {
	if !s.HasSecrets {
		return nil
	}
	return s.secrets(value, make(Pointer, 0, 8), each)
}

func (s *Shape) secrets(value any, at Pointer, each func(Pointer, string) (string, error)) error {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if err := s.replace(s.Items, item, at.Index(i), each, func(sealed string) { v[i] = sealed }); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, member := range v {
			if err := s.replace(s.Member(name), member, at.At(name), each, func(sealed string) { v[name] = sealed }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Shape) replace(inner *Shape, value any, at Pointer, each func(Pointer, string) (string, error), set func(string)) error {
	if inner == nil || !inner.HasSecrets {
		return nil
	}
	if text, ok := value.(string); ok && inner.Secret {
		sealed, err := each(at, text)
		if err == nil {
			set(sealed)
		}
		return err
	}
	return inner.secrets(value, at, each)
}
