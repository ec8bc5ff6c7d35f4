package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"marquee/engine/progress"
	"marquee/engine/store"
	"marquee/engine/walk"
)

// opening is what the opening of a store is doing, which can take minutes when its
// objects have to be indexed.
type opening struct {
	progress.Steps
	// store is the name of the store, and log where marquee serve, which listens at
	// url, reports; other commands report on standard error.
	store, url string
	log        *slog.Logger
	// answered reports whether the database has answered since it was first asked.
	answered atomic.Bool
}

const (
	readingSchemas     = "reading the schemas"
	waitingForDatabase = "waiting for the database"
	openingTheStore    = "opening the store"
)

// newOpening returns the opening of a store by name. The log is nil except for marquee serve.
func newOpening(store string, log *slog.Logger) *opening {
	o := &opening{store: store, log: log}
	o.Step(readingSchemas)
	return o
}

// answer notes that the database has answered.
func (o *opening) answer() {
	o.Step(openingTheStore)
	o.answered.Store(true)
}

// say reports the step, and how long it has taken; waiting for the database is the first.
func (o *opening) say(waited time.Duration) {
	step := o.String()
	silent := step == waitingForDatabase
	switch {
	case o.log != nil && silent:
		o.log.Warn("the database does not answer; waiting for it", slog.String("store", o.store), slog.String("url", o.url), slog.String("waited", waited.String()))
	case o.log != nil:
		o.log.Info("starting", slog.String("url", o.url), slog.String("step", step), slog.Duration("took", o.Took()))
	case silent:
		sayWaiting(o.store)(waited)
	default:
		fmt.Fprintf(os.Stderr, "%s: %s (%s)\n", programName, step, o.Took())
	}
}

// openingRetry is the wait before an opening is tried again.
const openingRetry = time.Second

// persist runs an attempt to open the store. Marquee serve, which answers meanwhile, runs it
// again if the store fails for a time after it has answered, as when a connection breaks.
func (o *opening) persist(ctx context.Context, attempt func(context.Context) error) error {
	defer progress.While(firstWaiting, everyStarting, o.say)()
	o.Log(o.log)
	ctx = store.WithProgress(ctx, o)
	for {
		err := attempt(ctx)
		if o.log == nil || !o.answered.Load() || !failsForATime(err) || ctx.Err() != nil {
			return err
		}
		o.log.Warn("the store failed during the start; trying again", slog.String("cause", err.Error()))
		o.Step("the store failed; trying again")
		if !walk.Sleep(ctx, openingRetry) {
			return err
		}
	}
}

// failsForATime reports whether the cause of a store's error may pass by itself.
func failsForATime(err error) bool {
	var known *store.Error
	if !errors.As(err, &known) {
		return false
	}
	switch known.Code {
	case store.CodeUnavailable, store.CodeUncertain, store.CodeConflict, store.CodeBusy, store.CodeDeadline:
		return true
	}
	return false
}

// When a command reports that it is waiting for a database: first, and then again.
const (
	firstWaiting = 1500 * time.Millisecond
	everyWaiting = 5 * time.Second
	// everyStarting is for a store that is being opened.
	everyStarting = 10 * time.Second
)

// sayWaiting says on standard error what is waited for.
func sayWaiting(name string) func(waited time.Duration) {
	return func(waited time.Duration) {
		fmt.Fprintf(os.Stderr, "%s: %s does not answer; waiting for it (%s)\n", programName, name, waited)
	}
}
