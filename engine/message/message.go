// Package message defines the translatable messages of the engine (specification,
// part 2.3), and the catalogue to which applications and schemas add messages. It
// imports no package of the project. Begin reading with Definition and
// NewCatalogue.
package message

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Message types (specification, part 7).
const (
	TypeError        = "ErrorMessage"
	TypeValidation   = "ValidationErrorMessage"
	TypeWarning      = "ValidationWarningMessage"
	TypeAudit        = "AuditMessage"
	TypeNotification = "NotificationMessage"
)

// Kind is the kind of an error. Package rest maps each kind to an HTTP status.
type Kind int

// The kinds of errors. None is for messages that are not errors.
const (
	None Kind = iota
	Malformed
	Unauthenticated
	Forbidden
	NotFound
	MethodNotAllowed
	TooSlow
	Conflict
	PreconditionFailed
	TooLarge
	HeadersExceeded
	UnsupportedMediaType
	NotSatisfiable
	Invalid
	TooManyRequests
	Internal
	Unavailable
)

// Definition is an entry of the catalogue.
type Definition struct {
	Code string `json:"code"`
	Type string `json:"type"`
	// Text is English, with placeholders such as {{name}}.
	Text string `json:"text"`
	// Kind is the kind of an error with this message.
	Kind Kind `json:"-"`
}

// Params are the values of a message's placeholders and the position of a fault:
// field (a JSON Pointer), index and objectId.
type Params map[string]any

// Message is a definition with the values of its placeholders. The zero Message is
// invalid; use Definition.With.
type Message struct {
	def    *Definition
	params Params
}

// With returns a message of this definition.
func (d *Definition) With(params Params) Message { return Message{def: d, params: params} }

// Code returns the code of the message.
func (m Message) Code() string { return m.def.Code }

// AsWarning returns the message of a fault as a warning: one that refuses nothing.
func (m Message) AsWarning() Message {
	def := *m.def
	def.Type = TypeWarning
	return def.With(m.params)
}

// Definition returns the definition of the message.
func (m Message) Definition() *Definition { return m.def }

// Param returns the value of a parameter, or nil.
func (m Message) Param(name string) any { return m.params[name] }

// Params returns the parameters, which must not be changed.
func (m Message) Params() Params { return m.params }

// Adding returns the message with more parameters, which do not replace existing
// ones.
func (m Message) Adding(more Params) Message {
	merged := Params{}
	for name, value := range more {
		merged[name] = value
	}
	for name, value := range m.params {
		merged[name] = value
	}
	return Message{def: m.def, params: merged}
}

// MarshalJSON implements json.Marshaler (specification, part 2.3).
func (m Message) MarshalJSON() ([]byte, error) {
	params := m.params
	if params == nil {
		params = Params{}
	}
	return json.Marshal(struct {
		Type   string `json:"type"`
		Code   string `json:"code"`
		Text   string `json:"text"`
		Params Params `json:"params"`
	}{m.def.Type, m.def.Code, m.def.Text, params})
}

// String returns the text with its placeholders replaced. A value that looks like a
// placeholder is not replaced again.
func (m Message) String() string { return Expand(m.def.Text, m.params) }

// Expand returns a text of a message with its placeholders replaced, as String does.
func Expand(text string, params Params) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		name, after, closed := strings.Cut(rest, "}}")
		b.WriteString(before)
		if !found || !closed {
			b.WriteString(text[len(before):])
			return b.String()
		}
		if value, given := params[name]; given {
			fmt.Fprint(&b, value)
		} else {
			b.WriteString("{{" + name + "}}")
		}
		text = after
	}
}
