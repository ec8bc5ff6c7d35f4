package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"marquee/engine/store"
)

// A COMMIT fails after its frames have been written to the log when the disk does not
// confirm that they are durable. SQLite ignores such frames, and the next commit
// overwrites them, but a recovery before that, after a crash, would take them for
// committed. Therefore they are cut off. If the disk does not confirm that either, the
// outcome of the transactions is unknown, and no other transaction begins until it does.

// begin begins a transaction, unless the store accepts no writes at present.
func (w *writer) begin() error {
	if err := w.s.undamaged(); err != nil {
		return err
	}
	if w.unclean {
		if err := w.cutLog(); err != nil {
			return &store.Error{Code: store.CodeUnavailable, Cause: err,
				Text: "writes are refused until the disk has confirmed that a failed commit was removed from the log: check the disk"}
		}
	}
	w.conn.ahead.forgetAll()
	err := w.conn.run("BEGIN IMMEDIATE")
	w.noteFailure(err)
	return err
}

// undamaged returns an error if the store is damaged.
func (s *Store) undamaged() error {
	if damage := s.damaged.Load(); damage != nil {
		return *damage
	}
	return nil
}

// conclude runs COMMIT. An error other than CodeUncertain means that nothing is stored,
// even after a crash.
func (w *writer) conclude() error {
	if err := w.s.undamaged(); err != nil {
		return errors.Join(err, w.conn.run("ROLLBACK"))
	}
	err := w.conn.run("COMMIT")
	if err == nil {
		return nil
	}
	_ = w.conn.run("ROLLBACK") // fails when SQLite has rolled back already
	if uncut := w.cutLog(); uncut != nil {
		return &store.Error{Code: store.CodeUncertain, Cause: errors.Join(err, uncut),
			Text: "the disk failed during a commit, and the outcome is unknown: read the records that were written"}
	}
	return err
}

// cutLog removes the frames of failed commits from the log.
func (w *writer) cutLog() error {
	w.s.wiping.Lock() // no other connection writes to the log
	defer w.s.wiping.Unlock()
	err := w.conn.cutLog()
	w.unclean = err != nil
	return err
}

const (
	logHeader   = 32 // bytes of the header of a log
	frameHeader = 24 // bytes of the header of each page in it (sqlite.org/walformat.html)
)

// cutLog truncates the log behind its last committed frame, and makes this durable.
func (c *conn) cutLog() error {
	frames, _, err := c.db.WALCheckpoint("main", sqlite3.CHECKPOINT_NOOP)
	if err != nil {
		return err
	}
	page, err := c.pragma("page_size")
	if err != nil {
		return err
	}
	log, err := c.db.FileControl("main", sqlite3.FCNTL_JOURNAL_POINTER)
	if err != nil {
		return err
	}
	file, ok := log.(vfs.File)
	if !ok {
		return fmt.Errorf("the log is a %T", log)
	}
	var end int64
	if frames > 0 {
		end = logHeader + int64(frames)*(frameHeader+page)
	}
	if err := file.Truncate(end); err != nil {
		return err
	}
	return file.Sync(vfs.SYNC_FULL)
}

// noteFailure remembers an error because of which all writes may fail.
func (w *writer) noteFailure(err error) {
	switch code, _ := store.CodeOf(translate(context.Background(), err)); code {
	case store.CodeUnavailable, store.CodeFull, store.CodeUncertain:
		w.s.failing.Store(&err)
	}
}

// tryWrite returns an error while all writes fail. After a failure, only another write
// shows whether they still do.
func (s *Store) tryWrite(ctx context.Context) error {
	failure := s.failing.Load()
	if failure == nil {
		return nil
	}
	err := s.observe(ctx, s.writer.submit(ctx, func(t *transaction) error {
		return t.conn.exec(fmt.Sprintf("PRAGMA user_version=%d", len(migrations))) // which it is
	}))
	if err == nil {
		s.failing.CompareAndSwap(failure, nil)
	}
	if code, _ := store.CodeOf(err); code == store.CodeUncertain {
		return &store.Error{Code: store.CodeUnavailable, Text: "the store's disk does not confirm writes: check it", Cause: err}
	}
	return err
}
