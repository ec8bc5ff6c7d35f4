package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"marquee/engine/store"
	"marquee/engine/walk"
)

// opening is what the opening of a store is doing, which can take minutes when its
// objects have to be indexed. It implements store.Progress.
type opening struct {
	// store is the name of the store, and log where marquee serve, which listens at
	// url, reports; other commands report on standard error.
	store, url string
	log        *slog.Logger

	mu       sync.Mutex
	step     string
	objects  int  // for which the step is done
	answered bool // by the database, since it was first asked
}

const (
	waitingForDatabase = "waiting for the database"
	openingTheStore    = "opening the store"
)

// Step implements store.Progress.
func (o *opening) Step(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.log != nil && o.objects > 0 {
		o.log.Info("done: "+o.step, slog.Int("objects", o.objects))
	}
	o.step, o.objects = text, 0
}

// Advance implements store.Progress.
func (o *opening) Advance(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.log != nil && o.objects == 0 && n > 0 {
		o.log.Info(o.step)
	}
	o.objects += n
}

// answer notes that the database has answered.
func (o *opening) answer() {
	o.Step(openingTheStore)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered = true
}

// String returns the step and its progress.
func (o *opening) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects == 0 {
		return o.step
	}
	return fmt.Sprintf("%s, %s so far", o.step, counted(int64(o.objects), "object"))
}

// say reports the step, and how long the opening has taken.
func (o *opening) say(waited time.Duration) {
	step := o.String()
	silent := step == waitingForDatabase
	switch {
	case o.log != nil && silent:
		o.log.Warn("the database does not answer; waiting for it", slog.String("store", o.store), slog.String("url", o.url), slog.String("waited", waited.String()))
	case o.log != nil:
		o.log.Info("starting", slog.String("url", o.url), slog.String("step", step), slog.Duration("took", waited))
	case silent:
		sayWaiting(o.store)(waited)
	default:
		fmt.Fprintf(os.Stderr, "marquee: %s (%s)\n", step, waited)
	}
}

// openingRetry is how long an opening waits before it is tried again.
const openingRetry = time.Second

// persist runs an attempt to open the store. Marquee serve, which answers meanwhile, runs it
// again if the store fails for a time after it has answered, as when a connection breaks.
func (o *opening) persist(ctx context.Context, attempt func(context.Context) error) error {
	defer whileWaiting(everyStarting, o.say)()
	ctx = store.WithProgress(ctx, o)
	for {
		err := attempt(ctx)
		o.mu.Lock()
		answered := o.answered
		o.mu.Unlock()
		if o.log == nil || !answered || !passing(err) || ctx.Err() != nil {
			return err
		}
		o.log.Warn("the store failed during the start; trying again", slog.String("cause", err.Error()))
		o.Step("the store failed; trying again")
		if !walk.Sleep(ctx, openingRetry) {
			return err
		}
	}
}

// passing reports whether the cause of a store's error may pass by itself.
func passing(err error) bool {
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
