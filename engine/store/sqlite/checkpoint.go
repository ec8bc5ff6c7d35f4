package sqlite

import (
	"errors"
	"log/slog"

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

// truncate empties the log unless a reader needs it.
func (w *writer) truncate() {
	w.grown = false
	stale := w.s.stale.Swap(false) // before, as Wipe may set it again
	switch err := w.s.copied(func() error { return w.conn.emptyLog(0) }); {
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
}
