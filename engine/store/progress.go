package store

import (
	"context"
	"fmt"
	"log/slog"
)

// Progress receives what a call does that may take minutes, such as the upgrade of a
// store or the indexing of its objects. Its methods may be called concurrently.
type Progress interface {
	// Step reports what is done from now on, in words for operators.
	Step(text string)
	// Advance reports that the step is done for n more objects.
	Advance(n int)
}

type progressKey struct{}

// WithProgress returns a context that carries a Progress to the calls that report to it.
func WithProgress(ctx context.Context, p Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

// Step reports a step to the Progress that a context carries, if any.
func Step(ctx context.Context, text string) {
	if p, ok := ctx.Value(progressKey{}).(Progress); ok {
		p.Step(text)
	}
}

// Advance reports objects to the Progress that a context carries, if any.
func Advance(ctx context.Context, n int) {
	if p, ok := ctx.Value(progressKey{}).(Progress); ok {
		p.Advance(n)
	}
}

// BeginUpgrade reports the upgrade of a store between two versions of its format, and
// logs its beginning, and its end when done is called. There is nothing to report for a
// new store, whose version is 0. Log may be nil.
func BeginUpgrade(ctx context.Context, log *slog.Logger, from, to int64) (done func()) {
	if from == 0 || from == to {
		return func() {}
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	versions := fmt.Sprintf("from %d to %d", from, to)
	Step(ctx, "upgrading the store "+versions)
	log.Info("upgrading the store " + versions)
	return func() { log.Info("store upgraded " + versions) }
}
