package store

import "errors"

// Code classifies an error of a store.
type Code int

// The error codes of stores.
const (
	// CodeInternal is an error of no other class.
	CodeInternal Code = iota
	// CodeConflict is a conflict with another transaction that retries did not
	// resolve.
	CodeConflict
	// CodeUnavailable means that the store cannot be reached at present.
	CodeUnavailable
	// CodeUncertain means that a transaction may or may not have been
	// committed.
	CodeUncertain
	// CodeFull means that the store is out of space. Reads still work.
	CodeFull
	// CodeDamaged means that stored data is unreadable or cannot be trusted.
	CodeDamaged
	// CodeTooLarge means that a transaction exceeds the store's limits.
	CodeTooLarge
	// CodeDeadline means that the context ended first.
	CodeDeadline
	// CodeBusy means that the context ended while the call waited for others, or that
	// another program held a lock on the store for long.
	CodeBusy
	// CodeBadPosition means that a position did not come from the store.
	CodeBadPosition
	// CodeTooOld means that changes behind a position have been removed.
	CodeTooOld
	// CodeNotUsable means that the store cannot be opened: it is corrupt, not
	// writable, in use, of a newer version, or not a store at all.
	CodeNotUsable
	// CodeNoStore means that there is no store and that Open was not to create
	// one.
	CodeNoStore
)

// Error is the error type of all stores. Its text is for operators.
type Error struct {
	Code Code
	// Text states what happened and, if there is one, the remedy.
	Text  string
	Cause error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Text
	}
	return e.Text + ": " + e.Cause.Error()
}

// Explained returns what happened without the text of the cause, which may be that of a library.
func (e *Error) Explained() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of an error; ok is false, and the code is
// CodeInternal, for an error that is not an *Error.
func CodeOf(err error) (code Code, ok bool) {
	var e *Error
	if errors.As(err, &e) {
		return e.Code, true
	}
	return CodeInternal, false
}

// ErrRollback is returned by the function of a Write to roll back the
// transaction.
var ErrRollback = errors.New("store: roll back")
