package message

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// Error is the only type of error that is sent to clients. Its kind determines the
// status; its cause is only logged.
type Error struct {
	Kind     Kind
	Messages []Message
	// Allow are the allowed methods of an error of kind MethodNotAllowed.
	Allow []string
	// RetryAfter is when a client may try again, 0 if unknown.
	RetryAfter time.Duration
	cause      error
}

// Error returns the texts of the messages.
func (e *Error) Error() string {
	texts := make([]string, len(e.Messages))
	for i, m := range e.Messages {
		texts[i] = m.String()
	}
	return strings.Join(texts, " ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Error returns an error with one message, of the definition's kind.
func (d *Definition) Error(params Params) *Error {
	return &Error{Kind: d.Kind, Messages: []Message{d.With(params)}}
}

// Caused sets the cause of the error and returns it.
func (e *Error) Caused(cause error) *Error {
	e.cause = cause
	return e
}

// Is reports whether err has a message of this definition.
func (d *Definition) Is(err error) bool {
	var e *Error
	return errors.As(err, &e) && slices.ContainsFunc(e.Messages, func(m Message) bool { return m.def == d })
}

// MaxFaults is the maximum number of faults in a response.
const MaxFaults = 100

// Faults collects the faults of a batch. The zero value is ready to use.
type Faults struct {
	// Limit is the maximum number of faults that are kept; 0 is MaxFaults.
	Limit int
	kept  []Message
	total int
}

// Add adds faults. Beyond the limit, they are only counted.
func (f *Faults) Add(faults ...Message) {
	f.total += len(faults)
	f.kept = append(f.kept, faults[:min(len(faults), cmp.Or(f.Limit, MaxFaults)-len(f.kept))]...)
}

// Holds reports whether the same fault was added.
func (f *Faults) Holds(m Message) bool {
	return slices.ContainsFunc(f.kept, func(kept Message) bool { return kept.def == m.def && maps.Equal(kept.params, m.params) })
}

// Clone returns an independent copy.
func (f *Faults) Clone() Faults {
	return Faults{Limit: f.Limit, kept: slices.Clone(f.kept), total: f.total}
}

// Len returns the number of faults that were added.
func (f *Faults) Len() int { return f.total }

// Err returns the faults as one error, or nil if there are none. They are sorted by
// object and field. The kind is that of the first fault.
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
