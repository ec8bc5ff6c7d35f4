// Package history encodes what a change did: the altered properties and the
// warnings that appeared, as they are stored with the change, and as messages of
// the specification. It imports document, message and store. Begin with Fields and
// Appeared.
package history

import (
	"bytes"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// usualBytes is the initial capacity of an encoded change.
const usualBytes = 1 << 9

// Fields encodes what a change altered as a JSON array of {"field", "from", "to"},
// with field a JSON Pointer. Absent values and secrets are left out; touched
// properties are named without values.
func Fields(shape *document.Shape, differences []document.FieldChange, stateBefore, state string, touched ...string) []byte {
	dst := append(make([]byte, 0, usualBytes), '[')
	if state != stateBefore {
		change := document.FieldChange{Field: "objectState", From: stateBefore, To: state, Was: stateBefore != "", Set: true}
		dst = appendField(dst, change, document.AnyShape)
	}
	for _, change := range differences {
		member := shape.Member(change.Field)
		if member == nil {
			member = document.AnyShape
		}
		dst = appendField(dst, change, member)
	}
	for _, name := range touched {
		dst = appendField(dst, document.FieldChange{Field: name}, document.AnyShape)
	}
	return append(dst, ']')
}

func appendField(dst []byte, change document.FieldChange, shape *document.Shape) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"field":`...)
	dst = document.AppendString(dst, "/"+document.EscapeToken(change.Field))
	if change.Was && !shape.Secret {
		dst = append(dst, `,"from":`...)
		dst = document.Append(dst, shape.Redact(change.From))
	}
	if change.Set && !shape.Secret {
		dst = append(dst, `,"to":`...)
		dst = document.Append(dst, shape.Redact(change.To))
	}
	return append(dst, '}')
}

// Redact removes the values of present secrets, and of what is write-only at present, from
// encoded fields, and reports whether there were any.
func Redact(shape *document.Shape, fields []byte) (redacted []byte, changed bool, err error) {
	if !shape.HasSecrets && !shape.HasWriteOnly {
		return fields, false, nil
	}
	return rewrite(shape, fields, func(member *document.Shape, _ string, value any) (any, bool) {
		return member.Redact(value), member == nil || !member.Secret && !member.WriteOnly
	})
}

// Erase removes personal values from encoded fields, and reports whether there were any.
func Erase(shape *document.Shape, fields []byte) (erased []byte, changed bool, err error) {
	if !shape.HasPersonal {
		return fields, false, nil
	}
	return rewrite(shape, fields, func(member *document.Shape, _ string, value any) (any, bool) {
		value = document.Clone(value)
		member.Erase(value)
		return value, member == nil || !member.Personal
	})
}

// Prune removes the values at a place that a shape does not declare (document.Shape.Prune)
// from encoded fields, and reports whether there were any.
func Prune(shape *document.Shape, fields []byte, place string) (pruned []byte, changed bool, err error) {
	return rewrite(shape, fields, func(_ *document.Shape, name string, value any) (any, bool) {
		object := map[string]any{name: document.Clone(value)}
		shape.Prune(object, place)
		left, there := object[name]
		return left, there
	})
}

// rewrite replaces the values of members in encoded fields by what is left of them, or removes
// them if nothing is, and reports whether that changes anything. The shape of a member that is
// not declared is nil.
func rewrite(shape *document.Shape, fields []byte, rest func(member *document.Shape, name string, value any) (left any, there bool)) (rewritten []byte, changed bool, err error) {
	decoded, err := document.Decode(fields, document.Limits{Depth: 1000})
	if err != nil {
		return nil, false, err
	}
	entries, _ := decoded.([]any)
	for _, entry := range entries {
		members, _ := entry.(map[string]any)
		field, _ := members["field"].(string)
		name := document.UnescapeToken(strings.TrimPrefix(field, "/"))
		for _, side := range []string{"from", "to"} {
			value, there := members[side]
			if !there {
				continue
			}
			left, there := rest(shape.Member(name), name, value)
			changed = changed || !there || !document.Equal(left, value)
			if members[side] = left; !there {
				delete(members, side)
			}
		}
	}
	if !changed {
		return fields, false, nil
	}
	return encode(entries), true, nil
}

// Rename returns encoded fields with other pointers to the properties that changed.
func Rename(fields []byte, pointer func(string) string) ([]byte, error) {
	decoded, err := document.Decode(fields, document.Limits{Depth: 1000})
	entries, _ := decoded.([]any)
	for _, entry := range entries {
		members, _ := entry.(map[string]any)
		field, _ := members["field"].(string)
		members["field"] = pointer(field)
	}
	return encode(entries), err
}

// encode encodes entries in the order in which Fields writes their members.
func encode(entries []any) []byte {
	dst := []byte{'['}
	for i, entry := range entries {
		members, _ := entry.(map[string]any)
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"field":`...)
		dst = document.Append(dst, members["field"])
		for _, side := range []string{"from", "to"} {
			if value, there := members[side]; there {
				dst = append(append(dst, `,"`+side+`":`...), document.Append(nil, value)...)
			}
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// Removal encodes what the removal of an object altered, without its content: it has no
// objectState any more.
func Removal(state string) []byte {
	return append(appendField([]byte{'['}, document.FieldChange{Field: "objectState", From: state, Was: true}, document.AnyShape), ']')
}

// Kind is what a change did to the object as a whole.
type Kind string

const (
	Created Kind = "created"
	Changed Kind = "changed"
	Deleted Kind = "deleted"
)

// KindOf returns the kind of a change.
func KindOf(c store.Change) Kind {
	switch from, to := states(c.Fields); {
	case c.Version == 1, to && !from:
		return Created
	case from && !to:
		return Deleted
	}
	return Changed
}

// Message returns the AuditMessage of a change.
func Message(c store.Change) message.Message {
	definition := message.AuditUpdated
	switch KindOf(c) {
	case Created:
		definition = message.AuditCreated
	case Deleted:
		definition = message.AuditRemoved
	}
	return definition.With(message.Params{"type": c.Collection, "id": c.ID})
}

// states reports whether encoded fields begin with an objectState, and which sides it has.
func states(fields []byte) (from, to bool) {
	const start = `[{"field":"/objectState"`
	if !bytes.HasPrefix(fields, []byte(start)) {
		return false, false
	}
	_, _, from = document.Member(fields, 1, "from")
	_, _, to = document.Member(fields, 1, "to")
	return from, to
}
