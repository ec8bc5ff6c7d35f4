package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folder is a folder of schemas, out of which no symbolic link leads. It opens
// files without waiting, as the opening of a named pipe would.
type folder struct{ root *os.Root }

// errFolderGone says that the folder of schemas does not exist.
var errFolderGone = errors.New("the folder does not exist")

// openFolder opens a folder. Its error is errFolderGone if there is none.
func openFolder(path string) (folder, error) {
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return folder{}, fmt.Errorf("%s: %w", path, errFolderGone)
	}
	if info, found := os.Stat(path); err != nil && found == nil && !info.IsDir() {
		return folder{}, fmt.Errorf("%s is no folder", path)
	}
	return folder{root}, err
}

// Open implements fs.FS.
func (f folder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return f.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Stat implements fs.StatFS.
func (f folder) Stat(name string) (fs.FileInfo, error) { return f.root.Stat(filepath.FromSlash(name)) }

// Lstat implements fs.ReadLinkFS.
func (f folder) Lstat(name string) (fs.FileInfo, error) {
	return f.root.Lstat(filepath.FromSlash(name))
}

// ReadLink implements fs.ReadLinkFS.
func (f folder) ReadLink(name string) (string, error) {
	return f.root.Readlink(filepath.FromSlash(name))
}

// maxUnread bounds how many folders are named that are not read.
const maxUnread = 20

// unread lists the folders in the folder that hold JSON files and are not read.
func (f folder) unread() (names []string) {
	entries, err := fs.ReadDir(f, ".")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || name == common || strings.HasPrefix(name, ".") || len(names) == maxUnread {
			continue
		}
		if files, _ := fs.Glob(f, name+"/*.json"); len(files) > 0 {
			names = append(names, name)
		}
	}
	return names
}

func (f folder) close() error { return f.root.Close() }

// maxLinks bounds the symbolic links of a path.
const maxLinks = 40

// follow resolves the symbolic links of an absolute path. The steps are the
// names on the way: if one of them is exchanged, the path leads elsewhere.
func follow(path string) (target string, steps []string) {
	const separator = string(filepath.Separator)
	volume := filepath.VolumeName(path) + separator
	at, rest := volume, strings.Split(strings.TrimPrefix(filepath.Clean(path), volume), separator)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		step := filepath.Join(at, name)
		steps = append(steps, step)
		link, err := os.Readlink(step)
		if err != nil || links == maxLinks { // no link, or not there
			at = step
			continue
		}
		links++
		if filepath.IsAbs(link) {
			at = volume
		}
		rest = append(strings.Split(filepath.Clean(link), separator), rest...)
	}
	return at, steps
}
