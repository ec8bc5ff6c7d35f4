package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"marquee/engine/document"
)

const (
	maxFileBytes = 1 << 20
	maxFiles     = 2000
)

// Source is a folder of schema files, one for each type, with shared definitions
// in its folder common.
type Source struct {
	// Name is the name of the folder in problems; "" is the built-in one.
	Name string
	FS   fs.FS
}

// path returns the path of a file of the source for problems.
func (s Source) path(name string) string {
	switch {
	case s.Name == "":
		return name
	case name == ".":
		return s.Name
	}
	return strings.TrimSuffix(s.Name, "/") + "/" + name
}

// Set is what was read of sources.
type Set struct {
	// Files are those that are JSON objects, by their paths.
	Files map[string]*File
	// Unread are the files without content.
	Unread   []*File
	Problems Problems
}

// Read reads the files of sources. A later source can add files but not replace any.
func Read(sources ...Source) *Set {
	s := &Set{Files: map[string]*File{}}
	for i, source := range sources {
		s.read(i, source)
	}
	return s
}

func (s *Set) read(index int, source Source) {
	for _, folder := range []string{".", "common"} {
		entries, err := fs.ReadDir(source.FS, folder)
		if errors.Is(err, fs.ErrNotExist) && folder == "common" && linkAt(source.FS, folder) == "" {
			continue
		}
		problem := Problem{File: source.path(folder)}
		switch {
		case err != nil:
			problem.Text, problem.Cure = unreadable(source.FS, folder, "folder", err)
		case len(entries) > maxFiles:
			problem.Text = fmt.Sprintf("the folder contains more than %d files", maxFiles)
		}
		if problem.Text != "" {
			s.Problems = append(s.Problems, problem)
			continue
		}
		for _, entry := range entries {
			if path.Ext(entry.Name()) == ".json" && !strings.HasPrefix(entry.Name(), ".") {
				s.readFile(newFile(index, source, path.Join(folder, entry.Name()), folder == "common"), source.FS)
			}
		}
	}
}

func (s *Set) readFile(f *File, fsys fs.FS) {
	if !document.PlainName(strings.TrimSuffix(path.Base(f.Path), ".json")) {
		s.problem(f, "a file name consists of letters, digits, _ and -", "rename it")
		return
	}
	if other, taken := s.Files[f.Path]; taken {
		s.problem(f, "this file name is taken by "+f.Others(other), "choose another file name")
		return
	}
	var text, cure string
	if f.Data, text, cure = read(fsys, f.Path); text == "" {
		var err error
		if f.Content, err = document.DecodeObject(f.Data, document.Limits{Depth: 64}); err == nil {
			s.Files[f.Path] = f
			return
		}
		text, cure = err.Error(), "a schema file is one JSON object"
	}
	s.Unread = append(s.Unread, f)
	s.problem(f, text, cure)
}

func (s *Set) problem(f *File, text, cure string) {
	s.Problems = append(s.Problems, Problem{File: f.Name, Text: text, Cure: cure})
}

// read returns the content of a file, or explains why it has none.
func read(fsys fs.FS, name string) (data []byte, text, cure string) {
	data, err := readRegular(fsys, name)
	if err != nil {
		text, cure = unreadable(fsys, name, "file", err)
	} else {
		text, cure = notJSON(data)
	}
	return data, text, cure
}

// irregularError is the mode of a file that is not regular.
type irregularError struct{ mode fs.FileMode }

func (e irregularError) Error() string {
	kind := "a device"
	switch {
	case e.mode.IsDir():
		kind = "a folder"
	case e.mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case e.mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return "it is " + kind + ", and only regular files are read"
}

// readRegular reads a regular file. Other files are not opened, which could block
// or have an effect. The file systems of sources do not follow links that lead out
// of the folder.
func readRegular(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, irregularError{info.Mode()}
	}
	r, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err = r.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // it has been replaced since
		return nil, irregularError{info.Mode()}
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if len(data) > maxFileBytes {
		err = fmt.Errorf("it is larger than %d bytes", maxFileBytes)
	}
	return data, err
}

// unreadable explains why a file or folder cannot be read.
func unreadable(fsys fs.FS, name, what string, err error) (text, cure string) {
	cause := err
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		cause = pathErr.Err
	}
	var irregular irregularError
	target := linkAt(fsys, name)
	switch {
	case errors.As(err, &irregular):
		return "the file cannot be read: " + irregular.Error(), "remove it, or rename it so that it does not end in .json"
	case target == "":
		return "the " + what + " cannot be read: " + cause.Error(), ""
	case errors.Is(err, fs.ErrNotExist):
		return "the " + what + " is a symbolic link to " + target + ", which does not exist", "correct or remove the link"
	}
	return "the " + what + " is a symbolic link to " + target + ", which is not followed: " + cause.Error(),
		"links must stay within the folder; copy the " + what + " into it"
}

// linkAt returns the target of a symbolic link, "" for anything else.
func linkAt(fsys fs.FS, name string) string {
	target, err := fs.ReadLink(fsys, name)
	if err != nil {
		return ""
	}
	return target
}

// notJSON recognises empty files and files in another encoding.
func notJSON(data []byte) (text, cure string) {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "the file is empty", "write a schema into it, or remove it"
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return "the file begins with a byte order mark", "save it as UTF-8 without one"
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "the file is in UTF-16", "save it as UTF-8"
	}
	return "", ""
}
