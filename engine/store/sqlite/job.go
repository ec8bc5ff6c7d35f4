package sqlite

import (
	"context"
	"time"

	"marquee/engine/store"
)

type job struct {
	ctx context.Context
	run func(*transaction) error
	// effort decides when the writer takes the job.
	effort store.Effort
	// arrived is when it was submitted, the zero time once it has been taken.
	arrived time.Time
	// wrote is what the job has written.
	wrote *commit
	// failed is the error that rolls the job back, and written the number of records
	// that it wrote.
	failed  error
	written int
	// shared reports whether the job saw writes of others in its transaction.
	shared bool
	// large makes the job begin a group.
	large bool
	// between, if set, is run instead of run: between two transactions.
	between func(*conn) error
	done    chan error
}

// submit runs fn in a transaction and waits for its commit. If the context ends
// before the writer takes it, fn does not run.
func (w *writer) submit(ctx context.Context, run func(*transaction) error) error {
	if ctx.Err() != nil {
		return deadline(ctx)
	}
	return w.wait(&job{ctx: ctx, run: run, effort: store.EffortOf(ctx), done: make(chan error, 1)})
}

// wait has the writer run a job, unless its context ends before the writer takes it.
func (w *writer) wait(j *job) error {
	ctx := j.ctx
	j.arrived = time.Now()
	if !w.queue.push(j) {
		return errClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if w.queue.leave(j) {
			w.s.took(j)
			return busy(ctx)
		}
		return <-j.done
	}
}

// took notes that a job waits no longer for the writer.
func (s *Store) took(j *job) {
	waited(s.measured.writeWaits, j.effort, time.Since(j.arrived))
	j.arrived = time.Time{}
}

var errClosed = &store.Error{Code: store.CodeUnavailable, Text: "the store is closed"}

func deadline(ctx context.Context) error {
	return &store.Error{Code: store.CodeDeadline, Text: "the deadline of the request has passed", Cause: ctx.Err()}
}

// busy returns the error of a transaction that did not begin before its
// deadline.
func busy(ctx context.Context) error {
	return &store.Error{Code: store.CodeBusy, Text: "the writer was busy until the deadline", Cause: ctx.Err()}
}
