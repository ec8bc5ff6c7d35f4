package message

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// Error is the one error type that reaches a client: messages, and the kind
// that decides the status. Its cause is for the log alone.
type Error struct {
	Kind     Kind
	Messages []Message
	// Allow lists the methods that a MethodNotAllowed answer names.
	Allow []string
	// RetryAfter is when a client may try again, zero when unknown.
	RetryAfter time.Duration
	cause      error
}

// Error is the filled-in text of the messages.
func (e *Error) Error() string {
	texts := make([]string, len(e.Messages))
	for i, m := range e.Messages {
		texts[i] = m.String()
	}
	return strings.Join(texts, " ")
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

// Error makes an error of one message, of the definition's kind.
func (d *Definition) Error(params Params) *Error {
	return &Error{Kind: d.Kind, Messages: []Message{d.With(params)}}
}

// Caused is the error with a cause for the log.
func (e *Error) Caused(cause error) *Error {
	e.cause = cause
	return e
}

// Is reports whether err carries a message of this definition.
func (d *Definition) Is(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	for _, m := range e.Messages {
		if m.def == d {
			return true
		}
	}
	return false
}

// MaxFaults is how many faults an answer lists.
const MaxFaults = 100

// Faults collects what is wrong with a batch. The zero value is ready.
type Faults struct {
	// Limit is how many are kept, 0 for MaxFaults.
	Limit int
	kept  []Message
	total int
}

// Add notes a fault; beyond the limit it is counted only.
func (f *Faults) Add(m Message) {
	f.total++
	if len(f.kept) < cmp.Or(f.Limit, MaxFaults) {
		f.kept = append(f.kept, m)
	}
}

// Clone is a copy that can be added to by itself.
func (f *Faults) Clone() Faults {
	return Faults{Limit: f.Limit, kept: slices.Clone(f.kept), total: f.total}
}

// Len is how many faults were added.
func (f *Faults) Len() int { return f.total }

// Err is the faults as one error, nil when there are none: in the order of the
// objects, and of the fields of each. The kind is that of the first fault.
func (f *Faults) Err() error {
	if f.total == 0 {
		return nil
	}
	sorted := slices.Clone(f.kept)
	slices.SortStableFunc(sorted, func(a, b Message) int {
		i, _ := a.params["index"].(int)
		j, _ := b.params["index"].(int)
		x, _ := a.params["field"].(string)
		y, _ := b.params["field"].(string)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(x, y))
	})
	return &Error{Kind: f.kept[0].def.Kind, Messages: sorted}
}
