package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/store"
)

// A checkpoint copies pages of the log into the file. If a reader is in its way, it copies
// some, which SQLite does not copy again, and leaves it to a later one to make them
// durable. When the fsync of that one fails, the operating system may drop them and report
// success the next time. The log then has the only copy, and has to be kept until the next
// start, which copies all of it.

var errUncopied = &store.Error{Code: store.CodeUnavailable,
	Text: "the disk did not confirm what was copied from the log into the store's file, so the log is kept and grows: check the disk, and start the service again"}

// copied runs a checkpoint, unless the log has to be kept.
func (s *Store) copied(checkpoint func() error) error {
	if s.uncopied.Load() {
		return errUncopied
	}
	err := checkpoint()
	if errors.Is(err, sqlite3.IOERR_FSYNC) {
		s.uncopied.Store(true)
		if s.options.Log != nil {
			s.options.Log.Error(errUncopied.Text)
		}
	}
	return err
}

// Note returns a message for operators about the state of the store, or "".
func (s *Store) Note() string {
	if s.uncopied.Load() {
		return errUncopied.Text
	}
	return ""
}

// truncate empties the log unless a reader needs it for longer than wait.
func (w *writer) truncate(wait time.Duration) {
	w.grown = false
	stale := w.s.stale.Swap(false) // before, as Wipe may set it again
	switch err := w.s.copied(func() error { return w.conn.emptyLog(wait) }); {
	case errors.Is(err, sqlite3.BUSY):
		if stale {
			w.s.stale.Store(true)
		}
	case err != nil && w.s.options.Log != nil:
		w.s.options.Log.Warn("the log of the store cannot be truncated", slog.String("cause", err.Error()))
	}
}

// checkpoint copies the log into the file when it has become long. What fails is tried
// again after the next commit.
func (w *writer) checkpoint() {
	if w.pages < w.checkpointAt {
		return
	}
	err := w.s.copied(func() error {
		_, _, err := w.conn.db.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
		return err
	})
	if err != nil && err != errUncopied && w.s.options.Log != nil {
		w.s.options.Log.Warn("the log of the store cannot be copied into its file", slog.String("cause", err.Error()))
	}
	if err == nil && w.pages >= tooLong*w.checkpointAt && time.Since(w.cleared) > clearPause {
		if w.s.walks.clear(func() { w.truncate(clearWait) }) {
			w.cleared = time.Now()
		}
	}
}

// SQLite begins its log again only when no read needs it. Extensive reads that overlap would
// let it grow without end, so they end, and run again, when it is tooLong times as long as
// where checkpoints begin. One that runs again does not end, as it might never complete: the
// log grows until then. Clearing it takes the writer clearWait if another read is in the way,
// so that it happens once in clearPause.
const (
	tooLong    = 4
	clearPause = 10 * time.Second
	clearWait  = 500 * time.Millisecond
)

// walks are the extensive reads that are running.
type walks struct {
	mu      sync.Mutex // held while none may begin
	running map[*context.CancelCauseFunc]bool
	// again is the number of reads that run again.
	again int
}

// errInTheWay is the cause with which clear ends a read.
var errInTheWay = errors.New("sqlite: the read is in the way of the log")

// begin returns the context of a read that clear may end. Done must be called after it.
func (r *walks) begin(ctx context.Context) (endable context.Context, done func()) {
	endable, end := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[&end] = true
	return endable, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, &end)
		end(nil)
	}
}

// repeat notes a read that runs again. Done must be called after it.
func (r *walks) repeat() (done func()) {
	count := func(n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.again += n
	}
	count(1)
	return func() { count(-1) }
}

// clear ends the reads that are running, and lets others begin after fn. It does nothing, and
// reports false, while a read runs again.
func (r *walks) clear(fn func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again > 0 {
		return false
	}
	for end := range r.running {
		(*end)(errInTheWay)
	}
	fn()
	return true
}
