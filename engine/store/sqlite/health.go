package sqlite

import (
	"context"
	"os"
	"path/filepath"

	"marquee/engine/store"
)

// Check implements store.Store. It reads, and writes a little beside the file,
// because only a write detects a disk that is full or read-only. Damage is
// reported for good, although other pages may still be readable.
func (s *Store) Check(ctx context.Context) error {
	if err := s.undamaged(); err != nil {
		return err
	}
	err := s.Read(ctx, func(snapshot store.Snapshot) error {
		_, err := snapshot.(*view).conn.number("SELECT count(*) FROM (SELECT 1 FROM changes LIMIT 1)")
		return snapshot.(*view).ended(err)
	})
	if err != nil {
		return err
	}
	if err := s.tryWrite(ctx); err != nil {
		return err
	}
	if err := s.InPlace(); err != nil {
		return err
	}
	switch err := probe(filepath.Dir(s.options.Path), false); {
	case isFull(err):
		return &store.Error{Code: store.CodeFull, Text: fullText}
	case err != nil:
		return &store.Error{Code: store.CodeUnavailable, Cause: err, Text: "the store's folder cannot be written: check the disk and its permissions"}
	}
	return nil
}

// InPlace returns an error if the file is not where it was opened, so that writes are lost.
func (s *Store) InPlace() error {
	if now, err := os.Stat(s.options.Path); err != nil || !os.SameFile(s.file, now) {
		return &store.Error{Code: store.CodeUnavailable, Cause: err, Text: "the store's file was moved or deleted while it is open, and writes are lost: put the file back, or, if it was deleted, make a backup, stop the service and restore the backup"}
	}
	return nil
}
