package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A store is replaced in two steps, so that a crash leaves the old store, with its log, or
// the new one. A complete file beside the store, named restoredPath, is the decision: before
// it has its name, nothing has changed; afterwards, whoever opens the store next removes the
// old log, which SQLite would apply to any file with the name of the store, and moves the new
// file into its place.

func restoredPath(path string) string { return path + ".restored" }

// Place is the place of a store that no process has open, and that none can open until Close.
type Place struct {
	s    *Store
	path string
}

// Reserve locks the place of a store, whose folder is made if it does not exist. The cause of
// the error is ErrInUse while a process has the store open.
func Reserve(path string) (*Place, error) {
	p := &Place{s: newStore(Options{Path: path}), path: path}
	p.s.dropped = true
	if err := p.s.acquire(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Taken reports whether there is a store, or another file, in the place.
func (p *Place) Taken() bool { return !missing(p.path) }

// ErrDecided is in the errors of Put after which the next process that opens the store
// completes the replacement.
var ErrDecided = errors.New("it is completed when the store is opened next")

// Put replaces what is in the place by a file in the same folder, which must be complete and
// durable and have no log. After an error without ErrDecided, nothing has changed.
func (p *Place) Put(file string) error {
	if err := os.Rename(file, restoredPath(p.path)); err != nil {
		return err
	}
	err := syncFolder(filepath.Dir(p.path))
	if err == nil {
		err = takeRestored(p.path)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDecided, err)
	}
	return nil
}

// Close lets other processes open the store. No lock, and no empty folder, remains that was made
// for the place, and no lock in a place that is empty.
func (p *Place) Close() error {
	p.s.made.lock = p.s.made.lock || !p.Taken()
	return p.s.Close()
}

// takeRestored completes the replacement of a store. The caller has the store locked.
func takeRestored(path string) error {
	restored := restoredPath(path)
	if _, err := os.Lstat(restored); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal", ".damaged"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	folder := filepath.Dir(path)
	if err := syncFolder(folder); err != nil {
		return err
	}
	if err := os.Rename(restored, path); err != nil {
		return err
	}
	return syncFolder(folder)
}

// syncFolder makes changes of the names in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path) // #nosec G304 -- the operator chooses the folder
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
