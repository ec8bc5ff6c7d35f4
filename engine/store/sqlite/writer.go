package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/store"
)

const (
	// maxGroup and defaultGroupTime bound how many transactions share a commit,
	// and for how long the first of them waits for others.
	maxGroup         = 512
	defaultGroupTime = 50 * time.Millisecond
	// slowCommit is from when on it is worth to wait for others.
	slowCommit = time.Millisecond
	// maxShared is how many records a transaction may write that shares a commit.
	maxShared = 2000
)

// writer runs read-write transactions one after the other, and commits those
// that wait at the same time together: the cost of making writes durable is
// shared, the faults are not.
//
// The first of a group needs no savepoint to be rolled back, those behind it
// have one each. To roll one back takes memory for every page that it changed:
// of a large transaction that is more than there is. One that turns out to be
// large is therefore run again, as the first of the next group.
type writer struct {
	s       *Store
	conn    *conn
	jobs    chan *job
	ended   chan struct{}
	commits atomic.Int64
	// lastCommit is how long the last commit took, expected how many are likely
	// to share the next: as many as lately, fewer with each commit.
	lastCommit time.Duration
	expected   int
	groupTime  time.Duration // as defaultGroupTime, which a test makes longer
	// later is the job that the next group begins with, if there is one.
	later *job

	mu     sync.RWMutex // guards closed against sends
	closed bool
}

type job struct {
	ctx     context.Context
	run     func(*transaction) error
	touched map[string]bool
	// failed is the job's own error, which rolls it back.
	failed error
	// large says that it is not to share a commit with those before it.
	large bool
	done  chan error
}

func startWriter(s *Store, c *conn) *writer {
	w := &writer{s: s, conn: c, jobs: make(chan *job, 1024), ended: make(chan struct{}), groupTime: defaultGroupTime}
	go w.loop()
	return w
}

func (w *writer) stop() {
	w.mu.Lock()
	w.closed = true
	close(w.jobs)
	w.mu.Unlock()
	<-w.ended
}

// submit runs fn in a transaction and waits for its commit.
func (w *writer) submit(ctx context.Context, run func(*transaction) error) error {
	j := &job{ctx: ctx, run: run, done: make(chan error, 1)}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return errClosed
	}
	select {
	case w.jobs <- j:
		w.mu.RUnlock()
	case <-ctx.Done():
		w.mu.RUnlock()
		return &store.Error{Code: store.CodeDeadline, Text: "the writer was busy until the deadline", Cause: ctx.Err()}
	}
	return <-j.done
}

var errClosed = &store.Error{Code: store.CodeUnavailable, Text: "the store is closed"}

func deadline(ctx context.Context) error {
	return &store.Error{Code: store.CodeDeadline, Text: "the deadline of the request has passed", Cause: ctx.Err()}
}

// Write implements store.Store. A transaction that has been accepted is
// waited for, whatever the context, so that its outcome is always known.
func (s *Store) Write(ctx context.Context, fn func(store.Tx) error) error {
	err := s.writer.submit(ctx, func(t *transaction) error { return fn(t) })
	return translate(ctx, err)
}

func (w *writer) loop() {
	defer close(w.ended)
	for first := range w.jobs {
		for ; first != nil; first = w.later {
			w.later = nil
			w.group(first)
		}
		w.conn.tidy()
	}
}

// group runs the first job and those that wait behind it, and commits.
func (w *writer) group(first *job) {
	if err := w.conn.run("BEGIN IMMEDIATE"); err != nil {
		first.done <- err
		return
	}
	var group []*job
	end := time.Now().Add(w.groupTime)
	var gathering <-chan time.Time
	shared := false
	for next := first; next != nil; next = w.next(&gathering, len(group)) {
		if w.perform(next, shared); next.large {
			w.later = next
			break
		}
		group = append(group, next)
		shared = shared || next.failed == nil
		if !w.alive() || len(group) == maxGroup || time.Now().After(end) {
			break
		}
	}
	if !w.alive() && len(group) > 1 {
		w.alone(group)
		return
	}
	w.finish(group)
}

var errLost error = &store.Error{Code: store.CodeInternal, Text: "SQLite has rolled the transaction back"}

// finish commits, and tells each job what became of it.
func (w *writer) finish(group []*job) {
	err := errLost
	if w.alive() {
		err = w.commit(group)
	}
	if code, _ := store.CodeOf(translate(context.Background(), err)); code == store.CodeFull && len(group) > 1 {
		w.alone(group) // nothing is stored; without the others, some may fit
		return
	}
	for _, j := range group {
		if j.failed == nil {
			j.failed = err
		}
		j.done <- j.failed
	}
}

// next is a job to join a group of n, nil when it is time to commit. Where
// commits are slow, it waits for at most the time of one for the clients that
// the last commits have answered: otherwise the clients split into two halves
// that wait for each other's commits. One client alone never waits.
func (w *writer) next(gathering *<-chan time.Time, n int) *job {
	select {
	case j := <-w.jobs:
		return j
	default:
	}
	if n >= w.expected || w.lastCommit < slowCommit {
		return nil
	}
	if *gathering == nil {
		*gathering = time.After(w.lastCommit)
	}
	select {
	case j := <-w.jobs:
		return j
	case <-*gathering:
		return nil
	}
}

// alive reports whether the transaction is still open: a full disk or a
// failing one rolls back all of it, savepoints included.
func (w *writer) alive() bool { return !w.conn.db.GetAutocommit() }

// alone runs the jobs of a group that was lost again, each in a transaction
// of its own, so that only those fail that cannot be stored.
func (w *writer) alone(group []*job) {
	for _, j := range group {
		j.touched = nil
		if j.failed = w.conn.run("BEGIN IMMEDIATE"); j.failed == nil {
			w.perform(j, false)
		}
		w.finish([]*job{j})
	}
}

// perform runs one job: in a savepoint, when it shares the transaction with
// what others have written.
func (w *writer) perform(j *job, shared bool) {
	j.large = false
	if j.ctx.Err() != nil {
		j.failed = deadline(j.ctx)
		return
	}
	if shared {
		if j.failed = w.conn.run("SAVEPOINT one"); j.failed != nil {
			return
		}
	}
	j.failed = w.call(j, shared)
	if !w.alive() {
		return
	}
	var end []string
	switch {
	case shared && j.failed != nil:
		end = []string{"ROLLBACK TO one", "RELEASE one"}
	case shared:
		end = []string{"RELEASE one"}
	case j.failed != nil:
		end = []string{"ROLLBACK", "BEGIN IMMEDIATE"}
	}
	for _, sql := range end {
		// The function's own error is returned as it is, joined to another only
		// where there is one.
		if err := w.conn.run(sql); err != nil {
			j.failed = errors.Join(j.failed, err)
		}
	}
}

// call turns a panic of the job into its error: the other jobs of the group
// have nothing to do with it.
func (w *writer) call(j *job, shared bool) (err error) {
	t := &transaction{view: view{s: w.s, conn: w.conn, ctx: j.ctx}, touched: map[string]bool{}, shared: shared}
	j.touched = t.touched
	defer func() {
		j.large = t.broken == errLarge
		if p := recover(); p != nil {
			err = &store.Error{Code: store.CodeInternal, Text: "a transaction panicked", Cause: fmt.Errorf("%v\n%s", p, debug.Stack())}
		}
		t.broken = errEnded
	}()
	if err := j.run(t); err != nil {
		return err
	}
	// A function that overlooks an error must not commit half of its writes.
	return t.broken
}

// commit makes the writes of the group durable.
func (w *writer) commit(group []*job) error {
	touched := map[string]bool{}
	for _, j := range group {
		if j.failed == nil {
			for name := range j.touched {
				touched[name] = true
			}
		}
	}
	began := time.Now()
	if hook := w.s.options.BeforeCommit; hook != nil && len(touched) > 0 {
		hook()
	}
	w.s.revs.step(touched)
	err := w.conn.run("COMMIT")
	if err != nil {
		_ = w.conn.run("ROLLBACK") // fails when SQLite has rolled back already
	}
	w.s.revs.step(touched)
	if err == nil && len(touched) > 0 {
		w.lastCommit, w.expected = time.Since(began), max(len(group), w.expected*3/4)
		w.commits.Add(1)
	}
	return err
}
