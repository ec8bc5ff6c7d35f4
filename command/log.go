package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"marquee/engine/progress"
	"marquee/engine/schema"
)

// newLogger logs to standard error. In JSON, durations are texts with their
// unit, as in the other format.
func newLogger(format string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format != "json" {
		return slog.New(slog.NewTextHandler(os.Stderr, options))
	}
	options.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, options))
}

// levelOf returns the level with a name, which is one of those of --log-level.
func levelOf(name string) (level slog.Level) {
	_ = level.UnmarshalText([]byte(name))
	return level
}

// levelName returns the name of a level, as --log-level has it.
func levelName(level slog.Level) string { return strings.ToLower(level.String()) }

// loggedError is an error that the log has already.
type loggedError struct{ error }

// Unwrap gives the error.
func (e loggedError) Unwrap() error { return e.error }

// logged logs why the service ends, nil for an end as it was asked for.
func logged(ctx context.Context, log *slog.Logger, err error) error {
	if err == nil {
		return nil
	}
	var problems schema.Problems
	if errors.As(err, &problems) {
		for _, problem := range problems {
			log.Error("a schema is wrong", slog.String("problem", problem.String()))
		}
		log.Error(programName+" serve ended", slog.String("reason", progress.Counted(int64(len(problems)), "mistake")+" in the schemas"))
		return loggedError{err}
	}
	level := slog.LevelError
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		level = slog.LevelWarn
	}
	log.Log(context.WithoutCancel(ctx), level, programName+" serve ended", slog.String("reason", err.Error()))
	return loggedError{err}
}

// logsJSON reports whether a command line that cannot be read asks the service
// to log in JSON.
func logsJSON(wrong *kong.ParseError, args []string) bool {
	if node := wrong.Context.Selected(); node == nil || node.Name != "serve" {
		return false
	}
	format := os.Getenv("MARQUEE_LOG_FORMAT")
	for i, arg := range args {
		if value, given := strings.CutPrefix(arg, "--log-format="); given {
			format = value
		} else if arg == "--log-format" && i+1 < len(args) {
			format = args[i+1]
		}
	}
	return strings.EqualFold(format, "json")
}
