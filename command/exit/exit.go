// Package exit is how commands end: errors in words of this program, the exit statuses of
// docs/reference/commands.md, and the signals that end a command. It knows no command.
package exit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit statuses of all commands (docs/reference/commands.md).
const (
	Failed    = 1
	Usage     = 2
	Rejected  = 3
	signalled = 128 // and the number of the signal, as in a shell
)

// statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

// Unwrap gives the error.
func (e statusError) Unwrap() error { return e.error }

// WithStatus returns an error with an exit status of its own.
func WithStatus(err error, status int) error { return statusError{err, status} }

// Usagef is an error of the command line or the settings.
func Usagef(format string, args ...any) error {
	return statusError{fmt.Errorf(format, args...), Usage}
}

// Refused joins errors of the settings, as one error of the settings; nil ones are left
// out.
func Refused(errs ...error) error {
	var texts []string
	for _, err := range errs {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return Usagef("%s", strings.Join(texts, "; "))
}

// IsUsage reports whether an error is one of the command line or the settings.
func IsUsage(err error) bool {
	var own statusError
	return errors.As(err, &own) && own.status == Usage
}

// Status is the exit status for an error.
func Status(ctx context.Context, err error) int {
	var usage *kong.ParseError
	var own statusError
	var sent Interruption
	switch {
	case errors.As(err, &usage):
		return Usage
	case errors.As(err, &own):
		return own.status
	case errors.As(context.Cause(ctx), &sent):
		return signalled + int(sent)
	}
	return Failed
}

// Interruption is the cause of a context that a signal has ended.
type Interruption syscall.Signal

// Error implements error.
func (Interruption) Error() string { return "interrupted" }

// InterruptedBy is an error, or the end of the context that was its cause.
func InterruptedBy(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Interruptible returns a context that SIGINT or SIGTERM ends; a second one
// ends the process.
func Interruptible() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		sent, _ := (<-signals).(syscall.Signal)
		signal.Reset(syscall.SIGINT, syscall.SIGTERM)
		cancel(Interruption(sent))
	}()
	return ctx
}

// Hangups receives each SIGHUP; one that meets another which nobody has
// looked at yet is the same request.
func Hangups() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}
