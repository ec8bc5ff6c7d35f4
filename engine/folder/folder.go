// Package folder reads schemas from a folder on disk, notices when its files change,
// and keeps the sets that were accepted in the store, with the servers that serve them. It
// imports the store port alone; begin with Open and Watch.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Common is the folder of shared definitions in a folder of schemas.
const Common = "common"

// Folder is an open folder of schemas. Symbolic links cannot lead out of it, and
// opening a named pipe does not block.
type Folder struct{ root *os.Root }

// ErrNotFound reports that the folder does not exist.
var ErrNotFound = errors.New("the folder does not exist")

// Open opens a folder. The error is ErrNotFound if it does not exist.
func Open(path string) (Folder, error) {
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Folder{}, fmt.Errorf("%s: %w", path, ErrNotFound)
	}
	if info, found := os.Stat(path); err != nil && found == nil && !info.IsDir() {
		return Folder{}, fmt.Errorf("%s is not a folder", path)
	}
	return Folder{root}, err
}

// Open implements fs.FS.
func (f Folder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return f.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Stat implements fs.StatFS.
func (f Folder) Stat(name string) (fs.FileInfo, error) { return f.root.Stat(filepath.FromSlash(name)) }

// Lstat implements fs.ReadLinkFS.
func (f Folder) Lstat(name string) (fs.FileInfo, error) {
	return f.root.Lstat(filepath.FromSlash(name))
}

// ReadLink implements fs.ReadLinkFS.
func (f Folder) ReadLink(name string) (string, error) {
	return f.root.Readlink(filepath.FromSlash(name))
}

// maxUnread bounds the names that Unread returns.
const maxUnread = 20

// Unread lists subfolders with JSON files, which are not read.
func (f Folder) Unread() (names []string) {
	entries, err := fs.ReadDir(f, ".")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || name == Common || strings.HasPrefix(name, ".") || len(names) == maxUnread {
			continue
		}
		if files, _ := fs.Glob(f, name+"/*.json"); len(files) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// Close closes the folder.
func (f Folder) Close() error { return f.root.Close() }
