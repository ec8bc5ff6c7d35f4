package keyword

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/rule"
)

// Source is a rule as it is written.
type Source struct {
	Members map[string]any
	// Content is the content of the file, for a keyword of types.
	Content map[string]any
	// Condition compiles the schema at a pointer below the rule.
	Condition func(below string) Condition
	// Declare adds a message to the catalogue.
	Declare func(messageType, code, text string) *message.Definition
	// Root is the shape of the type. For a keyword of values, Of is the shape of the objects
	// that have it, and Types are the types of the type's values.
	Of, Root *document.Shape
	Types    *rule.Types
}

// Condition reports whether an object in a state meets a schema. The error is that of the
// context.
type Condition func(ctx context.Context, object map[string]any, state string) (bool, error)

// fault returns the message that a rule declares, or another one if it declares none.
func (s Source) fault(otherwise *message.Definition) *message.Definition {
	code, ok := s.Members["code"].(string)
	if !ok {
		return otherwise
	}
	text, _ := s.Members["text"].(string)
	return s.Declare(message.TypeValidation, code, cmp.Or(text, otherwise.Text))
}

// Rule is a compiled rule of a type. It has Check, Warns or Claim.
type Rule struct {
	// Keyword is that of the rule, File the name of its file and At its pointer there. They
	// are set by the loader.
	Keyword  *Keyword
	File, At string
	// Message is that of its faults or of its warning.
	Message *message.Definition
	// Others are further messages of its faults.
	Others []*message.Definition
	// Check returns the faults of a change.
	Check func(context.Context, *Change) ([]message.Message, error)
	// Warns reports whether an object is stored with the Warning.
	Warns   Condition
	Warning message.Message
	// Claim is what objects claim by the rule.
	Claim *ClaimRule
	// Reads reports whether the rule reads the property at a path of names, what is around
	// it or what is within it; nil if that is not known.
	Reads func(path document.Pointer) bool
	// Lint checks the rule against its type. A problem is at a pointer below the rule.
	Lint func(t *Type, problem func(below, text, cure string))
	// Notes returns mistakes with a place within a text of the rule, and hints.
	Notes func(t *Type) []Note
	// Show returns what the section of the keyword says of the rule; nil if that of the
	// value does.
	Show func() Entry
}

// Note is a mistake in a rule, or a hint how it could be written.
type Note struct {
	// Below is the pointer below the rule. Line and Column, from 1, are the place in the
	// text there; Line is 0 for all of it.
	Below        string
	Line, Column int
	Text, Cure   string
	Hint         bool
}

// Each calls visit for each rule in the content of a file, with its pointer.
func (k *Keyword) Each(content map[string]any, visit func(at string, rule map[string]any)) {
	at := "/" + k.Name
	if k.Parts != nil {
		k.Parts(document.Lookup(content, at), func(below string, rule map[string]any) { visit(at+below, rule) })
		return
	}
	switch v := document.Lookup(content, at).(type) {
	case map[string]any:
		visit(at, v)
	case []any:
		for i, item := range v {
			if rule, ok := item.(map[string]any); ok {
				visit(at+"/"+strconv.Itoa(i), rule)
			}
		}
	}
}

// Indented returns a part of a schema as it can be read.
func Indented(value any) string {
	var b bytes.Buffer
	if err := json.Indent(&b, document.Append(nil, value), "", "  "); err != nil {
		return ""
	}
	return b.String()
}
