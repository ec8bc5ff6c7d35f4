package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/store"
)

const (
	// maxGroup limits the transactions of a commit, and defaultGroupTime the
	// time for which the first waits for others.
	maxGroup         = 512
	defaultGroupTime = 50 * time.Millisecond
	// slowCommit is the time of a commit from which waiting for others pays.
	slowCommit = time.Millisecond
	// maxShared is the maximum number of records of a transaction that shares a
	// commit.
	maxShared = 2000
)

// writer runs read-write transactions one at a time, and commits those that
// wait at the same time together. They share the cost of a durable commit, but
// not each other's errors.
//
// A savepoint takes a copy of every page that is changed after it, so a group does
// without them as long as nothing fails after it has written, which is rare. Then
// its transactions run again, each but the first in a savepoint. A transaction
// that turns out to be large, for which that would take too much, runs again, as
// the first of the next group.
type writer struct {
	s       *Store
	conn    *conn
	queue   *queue
	ended   chan struct{}
	commits atomic.Int64
	// transactions counts the jobs that were committed with writes.
	transactions atomic.Int64
	// lastCommit is the duration of the last commit, expected the likely number
	// of transactions of the next: as many as lately, fewer with each commit.
	lastCommit time.Duration
	expected   int
	groupTime  time.Duration // defaultGroupTime, more in a test
	// later is the job that the next group begins with, or nil.
	later *job
	// grown reports whether a large transaction has grown the log.
	grown bool
	// checkpointAt is the number of pages of the log from which a commit is followed by a
	// checkpoint: maxLogPages, less in a test. pages is their number.
	checkpointAt, pages int
	// cleared is when extensive reads were last ended for the log.
	cleared time.Time
	// wary is the number of groups that use savepoints from the start, because a recent one
	// had to run again.
	wary int
	// backup is the backup that is running, or nil.
	backup *sqlite3.Backup
	// unclean reports whether the log may contain frames of a failed commit.
	unclean bool
}

func startWriter(s *Store, c *conn) *writer {
	w := &writer{s: s, conn: c, queue: newQueue(), ended: make(chan struct{}), groupTime: defaultGroupTime, checkpointAt: maxLogPages}
	c.db.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.pages = pages
		return nil
	})
	go w.loop()
	return w
}

func (w *writer) stop() {
	w.queue.close()
	<-w.ended
}

// Write implements store.Store. Once a transaction has begun, Write waits for
// its end whatever the context, so that the outcome is certain.
func (s *Store) Write(ctx context.Context, fn func(store.Tx) error) error {
	err := s.writer.submit(ctx, func(t *transaction) error { return fn(t) })
	return s.observe(ctx, err)
}

func (w *writer) loop() {
	defer close(w.ended)
	for first := w.queue.first(); first != nil; first = w.queue.first() {
		for ; first != nil; first = w.later {
			w.later = nil
			if first.between != nil {
				first.done <- first.between(w.conn)
			} else {
				w.group(first)
			}
		}
		if w.grown || w.s.stale.Load() {
			w.truncate(0)
		}
		w.conn.tidy()
	}
	_ = w.endBackup() // which has failed
}

// waryGroups is the number of groups that use savepoints after one that had to run
// again, which costs about as much as the savepoints of ten.
const waryGroups = 100

// group runs the first job and those that wait, and commits.
func (w *writer) group(first *job) {
	if err := w.begin(); err != nil {
		first.done <- err
		return
	}
	var group []*job
	end := time.Now().Add(w.groupTime)
	var gathering <-chan time.Time
	shared, savepoints, written := false, w.wary > 0, 0
	w.wary = max(w.wary-1, 0)
	for next := first; next != nil; next = w.next(&gathering, len(group)) {
		if next.between != nil {
			w.later = next
			break
		}
		if w.perform(next, shared, savepoints); next.large {
			w.later = next
		} else {
			group = append(group, next)
		}
		if shared && next.failed != nil && w.conn.wrote && w.alive() && !savepoints {
			savepoints, w.wary = true, waryGroups
			w.runAgain(group)
		}
		if w.later != nil {
			break
		}
		shared, written = shared || next.failed == nil, written+next.written
		savepoints = savepoints || written > maxShared // which is too much to run again
		if !w.alive() || len(group) == maxGroup || time.Now().After(end) {
			break
		}
	}
	if !w.alive() && (savepoints || len(group) > 1) {
		w.runSeparately(group)
		return
	}
	w.finish(group)
}

var errLost error = &store.Error{Code: store.CodeInternal, Text: "SQLite rolled back the transaction"}

// finish commits, and reports the result to each job.
func (w *writer) finish(group []*job) {
	err := errLost
	if w.alive() {
		err = w.commit(group)
	} else if group[0].failed != nil {
		w.noteFailure(group[0].failed)
	}
	if code, _ := store.CodeOf(translate(context.Background(), err)); code == store.CodeFull && len(group) > 1 {
		w.runSeparately(group) // nothing was stored; separately, some may fit
		return
	}
	for _, j := range group {
		switch {
		case j.failed == nil:
			j.failed = err
		case err != nil && j.shared: // its own result is based on writes that do not exist
			j.failed = &store.Error{Code: store.CodeUnavailable, Text: "the commit of a group failed", Cause: err}
		}
		j.done <- j.failed
	}
}

// next returns a job to join a group of n, or nil to commit. Where commits are
// slow, it waits up to the time of one for the clients that the last commits
// answered: otherwise the clients split into two halves that wait for each
// other's commits. A single client never waits.
func (w *writer) next(gathering *<-chan time.Time, n int) *job {
	for {
		if j := w.queue.next(); j != nil {
			return j
		}
		if n >= w.expected || w.lastCommit < slowCommit {
			return nil
		}
		if *gathering == nil {
			*gathering = time.After(w.lastCommit)
		}
		select {
		case <-w.queue.arrived:
		case <-*gathering:
			return nil
		}
	}
}

// alive reports whether the transaction is still open. When the disk is full or
// failing, SQLite rolls back all of it, including the savepoints.
func (w *writer) alive() bool { return !w.conn.db.GetAutocommit() }

// runSeparately reruns the jobs of a failed group one by one, so that only those fail
// that cannot be stored.
func (w *writer) runSeparately(group []*job) {
	for _, j := range group {
		j.wrote = nil
		if j.failed = w.begin(); j.failed != nil {
			j.done <- j.failed
			continue
		}
		w.perform(j, false, false)
		w.finish([]*job{j})
	}
}

// runAgain runs the jobs of a group in a new transaction with savepoints. If it
// cannot, the transaction is lost.
func (w *writer) runAgain(group []*job) {
	if w.conn.run("ROLLBACK") != nil || w.begin() != nil {
		return
	}
	shared := false
	for _, j := range group {
		if j.failed != nil && j.ctx.Err() != nil {
			continue // its deadline has passed, which remains its error
		}
		if w.perform(j, shared, true); j.large {
			_ = w.conn.run("ROLLBACK") // fails only if it is lost
			return
		}
		shared = shared || j.failed == nil
	}
}

// perform runs one job. If it shares the transaction and fails, what it has written
// is rolled back only with a savepoint.
func (w *writer) perform(j *job, shared, savepoint bool) {
	if j.arrived.IsZero() {
		w.s.measured.again.Add(1)
	} else {
		w.s.took(j)
	}
	j.large, j.shared = false, shared
	if j.ctx.Err() != nil {
		j.failed = busy(j.ctx)
		return
	}
	if savepoint = savepoint && shared; savepoint {
		if j.failed = w.conn.run("SAVEPOINT one"); j.failed != nil {
			return
		}
	}
	w.conn.wrote = false
	j.failed = w.call(j, shared)
	if !w.alive() {
		return
	}
	var end []string
	switch {
	case savepoint && j.failed != nil:
		w.conn.rolledBack()
		end = []string{"ROLLBACK TO one", "RELEASE one"}
	case savepoint:
		end = []string{"RELEASE one"}
	case !shared && j.failed != nil && w.conn.wrote:
		end = []string{"ROLLBACK", "BEGIN IMMEDIATE"}
	}
	for _, sql := range end {
		// The error of the function is returned unchanged, and joined only to a
		// second error.
		if err := w.conn.run(sql); err != nil {
			j.failed = errors.Join(j.failed, err)
		}
	}
}

// call converts a panic of the job into its error, because the other jobs of
// the group continue.
func (w *writer) call(j *job, shared bool) (err error) {
	t := &transaction{view: view{s: w.s, conn: w.conn, ctx: j.ctx, rows: map[place]row{}}, commit: &commit{touched: map[string]bool{}}, announced: j.effort.Reads, shared: shared}
	j.wrote = t.commit
	defer func() {
		j.large = t.broken == errLarge
		j.written = t.written
		w.grown = w.grown || t.written > maxShared
		if p := recover(); p != nil {
			err = &store.Error{Code: store.CodeInternal, Text: "a transaction panicked", Cause: fmt.Errorf("%v\n%s", p, debug.Stack())}
		}
		t.broken = errEnded
	}()
	if err := j.run(t); err != nil {
		return err
	}
	// A function that ignores an error must not commit half of its writes.
	return t.broken
}

// commit makes the writes of the group durable.
func (w *writer) commit(group []*job) error {
	all := &commit{touched: map[string]bool{}}
	wrote := 0
	for _, j := range group {
		if j.failed == nil {
			all.add(j.wrote)
			if len(j.wrote.touched) > 0 {
				wrote++
			}
		}
	}
	began := time.Now()
	if hook := w.s.options.BeforeCommit; hook != nil && len(all.touched) > 0 {
		hook()
	}
	w.s.commits.write(all)
	if err := w.conclude(); err != nil {
		w.s.failed(all)
		w.noteFailure(err)
		return err
	}
	w.s.written(all)
	if len(all.touched) > 0 {
		w.lastCommit, w.expected = time.Since(began), max(len(group), w.expected*3/4)
		w.commits.Add(1)
		w.transactions.Add(int64(wrote))
		w.s.measured.groups.Add(int64(wrote))
		w.s.measured.commits.Add(int64(w.lastCommit))
		w.s.failing.Store(nil)
		w.checkpoint()
	}
	return nil
}
