// Package message owns the translatable messages of the service
// (specification, part 2.3) and their codes: no code is born elsewhere.
package message

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// The message types of the specification's part 7.
const (
	TypeError        = "ErrorMessage"
	TypeValidation   = "ValidationErrorMessage"
	TypeWarning      = "ValidationWarningMessage"
	TypeAudit        = "AuditMessage"
	TypeNotification = "NotificationMessage"
)

// Kind says what went wrong in terms of the protocol; package rest maps each
// kind to one HTTP status.
type Kind int

// The kinds of fault. None is for messages that are no faults.
const (
	None Kind = iota
	Malformed
	Unauthenticated
	Forbidden
	NotFound
	MethodNotAllowed
	Conflict
	PreconditionFailed
	TooLarge
	UnsupportedMediaType
	NotSatisfiable
	Invalid
	TooManyRequests
	Internal
	Unavailable
)

// Definition is one entry of the catalogue.
type Definition struct {
	Code string `json:"code"`
	Type string `json:"type"`
	// Text is English, with placeholders written {{name}}.
	Text string `json:"text"`
	// Kind is the kind of error that a message of this code makes.
	Kind Kind `json:"-"`
}

// Params are the values of a message's placeholders, and the place of a
// fault: field (a JSON Pointer), index, objectId.
type Params map[string]any

// Message is a definition with the values of its placeholders. The zero
// Message is not valid; only a Definition makes one.
type Message struct {
	def    *Definition
	params Params
}

// With makes a message of this definition.
func (d *Definition) With(params Params) Message { return Message{def: d, params: params} }

// Code is the message's unique key.
func (m Message) Code() string { return m.def.Code }

// Definition is the catalogue's entry of the message.
func (m Message) Definition() *Definition { return m.def }

// Param is the value of a parameter, nil when there is none.
func (m Message) Param(name string) any { return m.params[name] }

// Params are the message's parameters; they must not be changed.
func (m Message) Params() Params { return m.params }

// Adding is the message with more parameters; those it has already stay.
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

// MarshalJSON writes the message as the specification's part 2.3 shows it.
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

// String is the text with its placeholders filled in, each once: a value that
// looks like a placeholder is only text.
func (m Message) String() string {
	var b strings.Builder
	text := m.def.Text
	for {
		before, rest, found := strings.Cut(text, "{{")
		name, after, closed := strings.Cut(rest, "}}")
		b.WriteString(before)
		if !found || !closed {
			b.WriteString(text[len(before):])
			return b.String()
		}
		if value, given := m.params[name]; given {
			fmt.Fprint(&b, value)
		} else {
			b.WriteString("{{" + name + "}}")
		}
		text = after
	}
}

// Catalogue is the set of definitions that can leave the service: the built-in
// ones and those that schemas declare. It is immutable.
type Catalogue struct{ byCode map[string]*Definition }

// NewCatalogue joins declared definitions to the built-in ones. A code that is
// taken with another text or type is refused.
func NewCatalogue(declared []*Definition) (*Catalogue, error) {
	c := &Catalogue{byCode: make(map[string]*Definition, len(builtIn)+len(declared))}
	for _, def := range builtIn {
		c.byCode[def.Code] = def
	}
	for _, def := range declared {
		if other, taken := c.byCode[def.Code]; taken && *other != *def {
			return nil, fmt.Errorf("the code %s is declared twice, with different texts", def.Code)
		}
		c.byCode[def.Code] = def
	}
	return c, nil
}

// Lookup finds a definition by its code.
func (c *Catalogue) Lookup(code string) (*Definition, bool) {
	def, ok := c.byCode[code]
	return def, ok
}

// All lists the definitions in the order of their codes.
func (c *Catalogue) All() []*Definition {
	all := make([]*Definition, 0, len(c.byCode))
	for _, def := range c.byCode {
		all = append(all, def)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Code < all[j].Code })
	return all
}
