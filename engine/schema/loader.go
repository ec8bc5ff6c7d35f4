package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/schema/keyword"
)

// baseURL is the beginning of the URLs of files.
const baseURL = "marquee:///"

// file is one schema file.
type file struct {
	// name is the path in problems, url the base of each $ref.
	name, url string
	common    bool
	// source is the index of the file's source; builtIn reports whether that is the
	// built-in one.
	source  int
	builtIn bool
	data    []byte
	content map[string]any
	// unsound reports whether the file cannot be compiled, even without its faults.
	unsound bool
}

// others returns the name of another file in a problem of this one. Built-in files
// have none, as the author of a folder cannot read them.
func (f *file) others(other *file) string {
	if other.builtIn && other.source != f.source {
		return "a built-in type"
	}
	return other.name
}

// loader holds the files of a load and the problems found in them, for all its steps.
type loader struct {
	options  Options
	files    map[string]*file // by URL
	unread   []*file          // files without content
	problems Problems
	// hints do not prevent the set from being served.
	hints Problems
	// builtIn are the permissions that roles can hold whatever types use.
	builtIn []string
	// faults are the locations of faults that prevent files from being compiled.
	faults  []location
	omitted omissions
	// shapes are the shapes of the types after compilation.
	shapes *shapes
	// compiled compiles the schema at a location. It returns nil if there is none.
	compiled func(location) *jsonschema.Schema
}

// problem reports a fault that prevents a file from being compiled.
func (l *loader) problem(f *file, pointer, text, cure string) {
	l.faults = append(l.faults, location{f, pointer})
	l.report(f, pointer, text, cure)
}

func (l *loader) report(f *file, pointer, text, cure string) {
	if l.omitted.covers(f, pointer) {
		return
	}
	l.problems = append(l.problems, Problem{File: f.name, Pointer: pointer, Text: text, Cure: cure})
}

// note reports a note about a rule.
func (l *loader) note(f *file, pointer string, n keyword.Note) {
	pointer += n.Below
	line, column := 0, 0
	if n.Line > 0 {
		line, column = textPlace(f.data, pointer, n.Line, n.Column)
	}
	p := Problem{File: f.name, Pointer: pointer, Line: line, Column: column, Text: n.Text, Cure: n.Cure, Hint: n.Hint}
	switch {
	case l.omitted.covers(f, pointer):
	case n.Hint:
		l.hints = append(l.hints, p)
	default:
		l.faults = append(l.faults, location{f, pointer})
		l.problems = append(l.problems, p)
	}
}

// reported reports whether there is a problem at a place.
func (l *loader) reported(f *file, pointer string) bool {
	return slices.ContainsFunc(l.problems, func(p Problem) bool { return p.File == f.name && p.Pointer == pointer })
}

func (l *loader) sorted(problems Problems) Problems {
	l.number(problems)
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a.String() == b.String() })
}

// digest is what Registry.Digest returns. The folder of a file does not matter.
func (l *loader) digest() string {
	hash := sha256.New()
	add := func(texts ...string) {
		for _, text := range texts {
			fmt.Fprintf(hash, "%d %s\n", len(text), text)
		}
	}
	for _, f := range l.inOrder() {
		add(f.url, string(f.data))
	}
	add(l.options.DefaultPermission)
	for _, list := range [][]string{l.options.Permissions, l.options.Paths} {
		add(slices.Sorted(slices.Values(list))...)
	}
	return hex.EncodeToString(hash.Sum(nil)[:digestBytes])
}

// digestBytes is the number of bytes of a hash that make a digest.
const digestBytes = 16

// inOrder returns the files sorted by URL.
func (l *loader) inOrder() []*file {
	files := make([]*file, 0, len(l.files))
	for _, f := range l.files {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.url, b.url) })
	return files
}

// sound returns the files that can be compiled, sorted by URL.
func (l *loader) sound() []*file {
	return slices.DeleteFunc(l.inOrder(), func(f *file) bool { return f.unsound })
}

// mayName reports whether an unsound file may define a type, so that references to
// that type cannot be checked.
func (l *loader) mayName(typeName string) bool {
	for _, f := range l.files {
		r, _ := f.content["x-resource"].(map[string]any)
		if f.unsound && !f.common && r["path"] == typeName {
			return true
		}
	}
	return slices.ContainsFunc(l.unread, func(f *file) bool { return f.url == baseURL+typeName+".json" })
}

// File is a file of a set.
type File struct {
	// Name is that in problems, and Path the one in its folder.
	Name, Path string
	// Content must not be changed.
	Content map[string]any
	common  bool
	lines   func() map[string]int
}

// Line returns the line, from 1, of the value at a JSON Pointer, or of the closest value
// around it that exists.
func (f *File) Line(pointer string) int { return lineAt(f.lines(), pointer) }

// published returns the files by their paths.
func (l *loader) published() map[string]*File {
	files := map[string]*File{}
	for url, f := range l.files {
		at := strings.TrimPrefix(url, baseURL)
		files[at] = &File{Name: f.name, Path: at, Content: f.content, common: f.common, lines: sync.OnceValue(func() map[string]int { return linesOf(f.data) })}
	}
	return files
}
