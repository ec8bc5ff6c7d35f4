// Package audit is the history of objects: what a change did, as it is stored
// with the change, and as the specification's AuditMessage.
package audit

import (
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// usualBytes is the room that changes are written into at first.
const usualBytes = 1 << 9

// Fields is what a change altered, as a JSON array of {"field", "from", "to"}
// with field a JSON Pointer: an absent value is left out, and so is every
// secret. Touched properties are named without values.
func Fields(shape *document.Shape, before, after map[string]any, stateBefore, state string, touched ...string) []byte {
	dst := append(make([]byte, 0, usualBytes), '[')
	if state != stateBefore {
		change := document.FieldChange{Field: "objectState", From: stateBefore, To: state, Was: stateBefore != "", Set: true}
		dst = appendField(dst, change, document.AnyShape)
	}
	for _, change := range document.Diff(before, after) {
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

// Message is the AuditMessage of a change.
func Message(c store.Change) message.Message {
	definition := message.AuditUpdated
	if c.Version == 1 {
		definition = message.AuditCreated
	}
	return definition.With(message.Params{"type": c.Collection, "id": c.ID})
}
