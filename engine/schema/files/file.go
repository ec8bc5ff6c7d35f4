// Package files reads the schema files of folders, and knows the line of each value in them.
// It knows nothing of what schemas mean. Problem describes a mistake in a file, whoever finds it.
package files

import (
	"strings"
	"sync"
)

// File is a file that has been read.
type File struct {
	// Name is that in problems, and Path the one in its folder: orders.json or
	// common/money.json.
	Name, Path string
	// Common reports whether the file is in the folder common.
	Common bool
	// Content must not be changed.
	Content map[string]any
	// Data is the text of Content.
	Data []byte
	// Source is the index of the source of the file, and BuiltIn reports whether it is a
	// built-in one.
	Source  int
	BuiltIn bool

	lines func() map[string]int
}

func newFile(index int, source Source, name string, common bool) *File {
	f := &File{Name: source.path(name), Path: name, Common: common, Source: index, BuiltIn: source.Name == ""}
	f.lines = sync.OnceValue(func() map[string]int { return linesOf(f.Data) })
	return f
}

// Others returns the name of another file in a problem of this one. Built-in files
// have none, as the author of a folder cannot read them.
func (f *File) Others(other *File) string {
	if other.BuiltIn && other.Source != f.Source {
		return "a built-in type"
	}
	return other.Name
}

// Line returns the line, from 1, of the value at a JSON Pointer, or of the closest value
// around it that exists.
func (f *File) Line(pointer string) int {
	lines := f.lines()
	for {
		if line, ok := lines[pointer]; ok {
			return line
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return 1
		}
		pointer = pointer[:i]
	}
}
