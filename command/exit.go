package command

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
	statusFailed   = 1
	statusUsage    = 2
	statusRejected = 3
	statusSignal   = 128 // and the number of the signal, as in a shell
)

// statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

// Unwrap gives the error.
func (e statusError) Unwrap() error { return e.error }

// usagef is an error of the command line or the settings.
func usagef(format string, args ...any) error {
	return statusError{fmt.Errorf(format, args...), statusUsage}
}

// refused joins errors of the settings, as one error of the settings; nil ones are left
// out.
func refused(errs ...error) error {
	var texts []string
	for _, err := range errs {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return usagef("%s", strings.Join(texts, "; "))
}

// isUsage reports whether an error is one of the command line or the settings.
func isUsage(err error) bool {
	var own statusError
	return errors.As(err, &own) && own.status == statusUsage
}

// exitStatus is the exit status for an error.
func exitStatus(ctx context.Context, err error) int {
	var usage *kong.ParseError
	var own statusError
	var sent interruption
	switch {
	case errors.As(err, &usage):
		return statusUsage
	case errors.As(err, &own):
		return own.status
	case errors.As(context.Cause(ctx), &sent):
		return statusSignal + int(sent)
	}
	return statusFailed
}

// interruption is the cause of a context that a signal has ended.
type interruption syscall.Signal

// Error implements error.
func (interruption) Error() string { return "interrupted" }

// interruptedBy is an error, or the end of the context that was its cause.
func interruptedBy(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// interruptible returns a context that SIGINT or SIGTERM ends; a second one
// ends the process.
func interruptible() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		sent, _ := (<-signals).(syscall.Signal)
		signal.Reset(syscall.SIGINT, syscall.SIGTERM)
		cancel(interruption(sent))
	}()
	return ctx
}

// caughtHangups receives each SIGHUP; one that meets another which nobody has
// looked at yet is the same request.
func caughtHangups() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}
