package store

import "errors"

// Code says what went wrong in terms of the port.
type Code int

// The error codes of stores.
const (
	// CodeInternal is a fault that is not one of the others.
	CodeInternal Code = iota
	// CodeConflict is a conflict with another transaction that the store's own
	// retries did not resolve.
	CodeConflict
	// CodeUnavailable says that the store cannot be reached at present.
	CodeUnavailable
	// CodeUncertain says that whether a transaction was committed is not known.
	CodeUncertain
	// CodeFull says that the store has no room; reads go on.
	CodeFull
	// CodeTooLarge says that a transaction is larger than the store takes.
	CodeTooLarge
	// CodeDeadline says that the context ended first.
	CodeDeadline
	// CodeBadPosition says that a position is not one that the store gave.
	CodeBadPosition
	// CodeNotUsable says that what was opened is not a store that this program
	// can use: corrupt, of a newer version, not writable, in use.
	CodeNotUsable
)

// Error is the one error type of stores. Its text is for operators.
type Error struct {
	Code Code
	// Text says what happened and, where there is one, the cure.
	Text  string
	Cause error
}

// Error is the text and the cause.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Text
	}
	return e.Text + ": " + e.Cause.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf is the code of an error, CodeInternal for one that is not a store's;
// ok tells them apart.
func CodeOf(err error) (code Code, ok bool) {
	var e *Error
	if errors.As(err, &e) {
		return e.Code, true
	}
	return CodeInternal, false
}

// ErrRollback is returned by the function of a Write to end the transaction
// without its writes.
var ErrRollback = errors.New("store: roll back")
