package sqlite

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"marquee/engine/disk"
	"marquee/engine/store"
)

const (
	// backupPages is the number of pages that the writer copies between two transactions:
	// 1 MiB, which takes a few milliseconds.
	backupPages = 256
	// backupSync is the number of such steps after which the copy is made durable, so that a
	// commit does not wait until the disk has written a large part of it.
	backupSync = 8
	// maxBackupCopies bounds the steps of a store that grows or is rewritten meanwhile, in
	// those that a copy takes.
	maxBackupCopies = 10
)

// Backup copies the store into an existing, empty file, beside reads and writes. The copy is
// the state at a moment before Backup returns, and it is durable then. Progress, if it is not
// nil, is called with the numbers of bytes that are copied and of all. Codes: CodeFull if the
// copy does not fit on the disk, CodeBusy if another backup is running.
//
// The connection of the writer copies the pages, in steps between transactions (SQLite's
// backup API). It also copies what it writes meanwhile, so that the log can be emptied at any
// time. Another connection would begin again after each write, and one that copies a snapshot
// would keep the log from being emptied. What is copied is what reads see, even while the disk
// of the store accepts no writes.
func (s *Store) Backup(ctx context.Context, path string, progress func(done, total int64)) (err error) {
	if !s.backing.TryLock() {
		return &store.Error{Code: store.CodeBusy, Text: "another backup of the store is running"}
	}
	defer s.backing.Unlock()
	file, err := os.OpenFile(path, os.O_RDWR, 0) // #nosec G304 -- the operator chooses the file
	if err != nil {
		return err
	}
	defer file.Close()
	target := &url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: "_pragma=journal_mode(off)&_pragma=synchronous(off)"}
	var pages, page int64
	err = s.writer.between(ctx, func(c *conn) (err error) {
		if err := s.undamaged(); err != nil {
			return err
		}
		if pages, err = c.pragma("page_count"); err != nil {
			return err
		}
		if page, err = c.pragma("page_size"); err != nil {
			return err
		}
		if err := roomFor(pages*page, filepath.Dir(path)); err != nil {
			return err
		}
		s.writer.backup, err = c.db.BackupInit("main", target.String())
		return err
	})
	if err != nil {
		return backupError(ctx, path, err)
	}
	defer func() { // does not run if the store is being closed, which then ends the backup
		_ = s.writer.between(context.WithoutCancel(ctx), func(*conn) error { return s.writer.endBackup() })
	}()
	steps := pages/backupPages + 10
	for n := int64(1); ; n++ {
		var done bool
		var remaining, total int64
		began := time.Now()
		err := s.writer.between(ctx, func(*conn) (err error) {
			if err := s.undamaged(); err != nil {
				return err
			}
			b := s.writer.backup
			done, err = b.Step(backupPages << min(n/(2*steps), 4)) // more if the store grows faster
			remaining, total = int64(b.Remaining())*page, int64(b.PageCount())*page
			if done {
				err = s.writer.endBackup()
			}
			return err
		})
		took := time.Since(began)
		if err == nil && (done || n%backupSync == 0) {
			err = file.Sync()
		}
		if err == nil && n > maxBackupCopies*steps {
			err = &store.Error{Code: store.CodeBusy, Text: "the store was rewritten again and again while it was copied: try again later"}
		}
		if err != nil {
			return backupError(ctx, path, err)
		}
		if progress != nil {
			progress(total-remaining, total)
		}
		if done {
			return nil
		}
		select { // leaves the writer to others
		case <-time.After(took):
		case <-ctx.Done():
			return deadline(ctx)
		}
	}
}

// backupError translates an error of a backup. The disk of the copy is not that of the store.
func backupError(ctx context.Context, path string, err error) error {
	if probed := probe(filepath.Dir(path), true); isFull(probed) || isFull(err) {
		return &store.Error{Code: store.CodeFull, Text: "the disk of the backup is full", Cause: err}
	}
	switch primary(err) {
	case codeIO, codeReadOnly, codeCantOpen, codePermission:
		return &store.Error{Code: store.CodeUnavailable, Text: "the copy cannot be written, or the store not be read: check their disks", Cause: err}
	}
	return translate(ctx, err)
}

// roomFor returns an error if a number of bytes does not fit on the disk of a folder.
func roomFor(size int64, folder string) error {
	if d, ok := disk.Of(folder); ok && d.Free < size {
		return &store.Error{Code: store.CodeFull, Text: fmt.Sprintf("the copy takes %d bytes, and %d are free", size, d.Free)}
	}
	return nil
}

// between has the writer run a function between two transactions.
func (w *writer) between(ctx context.Context, run func(*conn) error) error {
	if ctx.Err() != nil {
		return deadline(ctx)
	}
	return w.wait(&job{ctx: ctx, between: run, effort: store.Effort{Extensive: true, Caller: "backup"}, done: make(chan error, 1)})
}

// endBackup ends the backup that is running, if any.
func (w *writer) endBackup() error {
	b := w.backup
	w.backup = nil
	return b.Close()
}

// OpenCopy opens a file that Backup has made, or a copy of a stopped store, for reads. It
// changes nothing and takes no lock: nobody may write to the file. Codes: CodeNotUsable,
// CodeNoStore.
func OpenCopy(path string) (*Store, error) {
	if missing(path) {
		return nil, noStore(path)
	}
	options := Options{Path: path, Readers: 1, immutable: true}
	s := newStore(options)
	c, err := openReader(options)
	if err != nil {
		return nil, copyError(path, err)
	}
	s.all = append(s.all, c)
	s.readers.give(c)
	if s.format, err = s.version(c); err != nil {
		_ = s.Close() // which has nothing to write
		return nil, copyError(path, err)
	}
	return s, nil
}

func copyError(path string, err error) error {
	text := ""
	switch primary(err) {
	case codeNotADatabase:
		text = "it is not an SQLite database"
	case codeCorrupt:
		text = "it is incomplete or damaged"
	default:
		return openError(path, err)
	}
	return &store.Error{Code: store.CodeNotUsable, Text: "the file " + path + " cannot be used: " + text}
}

// Format returns the version of the format of the file.
func (s *Store) Format() int64 { return s.format }

// IsCurrent reports whether the file has the format of this program.
func (s *Store) IsCurrent() bool { return s.format == int64(len(migrations)) }

// Records returns the number of records in each collection.
func (s *Store) Records(ctx context.Context) (map[string]int64, error) {
	numbers := map[string]int64{}
	err := s.Read(ctx, func(snapshot store.Snapshot) error {
		v := snapshot.(*view)
		names, err := v.collections(ctx)
		for _, name := range names {
			if err == nil {
				err = v.query(ctx, "SELECT count(*) FROM "+table(name), nil, func(row *stmt) error {
					numbers[name] = row.ColumnInt64(0)
					return nil
				})
			}
		}
		return err
	})
	return numbers, err
}
