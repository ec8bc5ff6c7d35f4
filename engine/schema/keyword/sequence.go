package keyword

import (
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
)

// MaxNumber is the highest number of a sequence, the highest integer that all JSON
// implementations read exactly (RFC 8259, section 6).
const MaxNumber = 1<<53 - 1

var exhausted = message.Refusal("error.sequence.exhausted", "There are no more numbers for {{field}}.")

// Sequence gives new objects unique, growing numbers.
type Sequence struct {
	// Start is the lowest number.
	Start int64
	// Text reports whether values are texts, which consist of Prefix, number and Suffix.
	Text           bool
	Prefix, Suffix string
}

// Value returns the value with a number.
func (s Sequence) Value(n int64) any {
	if s.Text {
		return s.Prefix + strconv.FormatInt(n, 10) + s.Suffix
	}
	return n
}

// Number returns the number of a value, if the sequence can give that value.
func (s Sequence) Number(value any) (n int64, ok bool) {
	switch v := value.(type) {
	case int64:
		n = v
	case string:
		digits, prefixed := strings.CutPrefix(v, s.Prefix)
		digits, suffixed := strings.CutSuffix(digits, s.Suffix)
		if n, _ = strconv.ParseInt(digits, 10, 64); !prefixed || !suffixed {
			return 0, false
		}
	}
	return n, n >= s.Start && n <= MaxNumber && s.Value(n) == value
}

// SequenceOf returns the sequence of a value that has one.
func SequenceOf(shape *document.Shape) (s Sequence, ok bool) {
	s, ok = shape.Keywords["x-sequence"].(Sequence)
	return s, ok
}

// IsNumbered reports whether a value has a sequence.
func IsNumbered(shape *document.Shape) bool {
	_, is := SequenceOf(shape)
	return is
}

// x-sequence is a value that the service gives, like a readOnly one. An import can set it.
var _ = Declare(Keyword{
	Name: "x-sequence", Order: 63,
	Meta: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"start": {"type": "integer", "minimum": 0, "maximum": 9007199254740991, "default": 1, "description": "The lowest number."},
			"format": {"type": "string", "pattern": "^[^{}]*\\{n\\}[^{}]*$", "maxLength": 100, "description": "The form of values that are strings, with {n} for the number."}
		},
		"description": "The service gives each new object a unique number, which grows and leaves gaps. What clients send is ignored.",
		"examples": [{"start": 1000, "format": "INV-{n}"}]
	}`,
	On: Property, Cure: "put it on a top-level property", Once: true,
	Read: func(shape *document.Shape, value any) {
		members, _ := value.(map[string]any)
		s := Sequence{Start: 1}
		if start, given := members["start"].(int64); given {
			s.Start = start
		}
		if format, given := members["format"].(string); given {
			s.Text = true
			s.Prefix, s.Suffix, _ = strings.Cut(format, "{n}")
		}
		set(shape, "x-sequence", s)
		shape.ReadOnly = true
	},
	Conflict: conflictOfSequence,
	Sample: func(shape *document.Shape) (any, bool) {
		s, _ := SequenceOf(shape)
		text, _ := conflictOfSequence(shape)
		return s.Value(s.Start), text == ""
	},
	Supply: func(shape *document.Shape, c *Creation) any {
		s, _ := SequenceOf(shape)
		return s.Value(c.Number(s))
	},
	Faults: []*message.Definition{exhausted},
	Note: func(shape *document.Shape) []string {
		s, _ := SequenceOf(shape)
		return []string{"numbered by the service, from " + string(document.Append(nil, s.Value(s.Start)))}
	},
	Table: "The service gives each new object a unique number; what clients send is ignored.",
})

func conflictOfSequence(shape *document.Shape) (text, cure string) {
	s, _ := SequenceOf(shape)
	want, cure := "integer", `write "type": "integer", or a format for a string`
	if s.Text {
		want, cure = "string", `write "type": "string", or leave format out`
	}
	other := func(kind string) bool { return kind != want && kind != "null" }
	switch {
	case shape.Ref != nil, shape.Format != "", !shape.Is(want), slices.ContainsFunc(shape.Types, other):
		return "the values of this sequence are of type " + want, cure
	case shape.HasDefault, shape.Keywords["x-default"] != nil:
		return "a value that has x-sequence has no other default", "remove it"
	case shape.Secret, shape.Derived:
		return "a value that is x-secret or x-derived cannot be unique", "remove one of them"
	}
	return "", ""
}

// Exhausted is the fault of a property whose sequence has no more numbers.
func Exhausted(property string) *message.Error {
	return exhausted.Error(message.Params{"field": "/" + property})
}
