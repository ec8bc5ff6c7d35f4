package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrInUse is the cause of the error for a store that another process has open.
var ErrInUse = errors.New("the lock is held")

// acquire locks the store against other processes, because counts and revisions
// are kept in memory. The folder of the store is made if it does not exist.
func (s *Store) acquire() error {
	path := s.options.Path
	if err := s.made.folder(filepath.Dir(path)); err != nil {
		return notUsable(path, "its folder cannot be created; choose another place or change its permissions", err)
	}
	if file, err := filepath.EvalSymlinks(path); err == nil { // a store has one lock, whatever its name
		path = file
	}
	s.lock = flock.New(path+".lock", flock.SetPermissions(0o600))
	_, err := os.Lstat(s.lock.Path())
	s.made.lock = errors.Is(err, fs.ErrNotExist)
	held, err := s.lock.TryLock()
	for err == nil && held && !named(s.lock) { // made.remove has removed it meanwhile
		if err = s.lock.Unlock(); err == nil {
			held, err = s.lock.TryLock()
		}
	}
	if err != nil {
		s.lock = nil
		return notUsable(s.options.Path, "it cannot be locked; check that its folder is writable", err)
	}
	if !held {
		s.lock = nil
		return notUsable(s.options.Path, "another process has it open; stop that one first", ErrInUse)
	}
	return nil
}

// named reports whether the file of a lock still has its name.
func named(lock *flock.Flock) bool {
	own, err := lock.Stat()
	there, wrong := os.Stat(lock.Path())
	return err == nil && wrong == nil && os.SameFile(own, there)
}
