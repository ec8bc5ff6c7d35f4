package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// made is what was made to open a store or to reserve its place. It is removed if the store could
// not be opened, as far as that is possible: what remains is no store.
type made struct {
	// folders are from the innermost on.
	folders    []string
	lock, file bool
}

// folder makes a folder, and those that it is in.
func (m *made) folder(path string) error {
	for folder := path; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		m.folders = append(m.folders, folder)
	}
	return os.MkdirAll(path, 0o700)
}

// remove removes the files, while the store is locked and its connections are closed.
func (m *made) remove(s *Store) {
	path := s.options.Path
	if now, err := os.Lstat(path); m.file && err == nil && os.SameFile(s.file, now) {
		for _, suffix := range []string{"-wal", "-shm", ""} {
			_ = os.Remove(path + suffix)
		}
	}
	if m.lock {
		_ = os.Remove(s.lock.Path())
	}
}

// removeFolders removes the folders in which there is nothing else.
func (m *made) removeFolders() {
	for _, folder := range m.folders {
		_ = os.Remove(folder)
	}
}

// Shares reports whether the file of a store is one that another store keeps beside its own, so
// that one would overwrite the other.
func Shares(path, other string) bool {
	path, other = resolved(path), resolved(other)
	return belongs(path, other) || belongs(other, path)
}

// belongs reports whether a path is that of a store, or of a file that the store keeps.
func belongs(path, store string) bool {
	if path == store {
		return true
	}
	suffix, beside := strings.CutPrefix(path, store)
	if !beside {
		return false
	}
	switch suffix {
	case "-wal", "-shm", "-journal", ".lock", ".sock", ".sock.new", ".damaged", ".restored":
		return true
	}
	return strings.HasPrefix(suffix, ".restoring") || strings.HasPrefix(suffix, ".version-")
}

// resolved returns a path without links, as far as it exists.
func resolved(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}
