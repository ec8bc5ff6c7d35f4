package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/files"
	"marquee/engine/schema/keyword"
)

// baseURL is the beginning of the URLs of files.
const baseURL = "marquee:///"

// loader holds the files of a load and the problems found in them, for all its steps.
type loader struct {
	options  Options
	files    map[string]*File // by path
	unread   []*File          // files without content
	problems Problems
	// hints do not prevent the set from being served.
	hints Problems
	// builtIn are the permissions that roles can hold whatever types use.
	builtIn []string
	// unsound are the files that cannot be compiled, even without their faults.
	unsound map[*File]bool
	// faults are the locations of faults that prevent files from being compiled.
	faults  []location
	omitted omissions
	// shapes are the shapes of the types after compilation.
	shapes *shapes
	// compiled compiles the schema at a location. It returns nil if there is none.
	compiled func(location) *jsonschema.Schema
}

// problem reports a fault that prevents a file from being compiled.
func (l *loader) problem(f *File, pointer, text, cure string) {
	l.faults = append(l.faults, location{f, pointer})
	l.report(f, pointer, text, cure)
}

func (l *loader) report(f *File, pointer, text, cure string) {
	if l.omitted.covers(f, pointer) {
		return
	}
	l.problems = append(l.problems, Problem{File: f.Name, Pointer: pointer, Text: text, Cure: cure})
}

// note reports a note about a rule.
func (l *loader) note(f *File, pointer string, n keyword.Note) {
	pointer += n.Below
	line, column := 0, 0
	if n.Line > 0 {
		line, column = f.Place(pointer, n.Line, n.Column)
	}
	p := Problem{File: f.Name, Pointer: pointer, Line: line, Column: column, Text: n.Text, Cure: n.Cure, Hint: n.Hint}
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
func (l *loader) reported(f *File, pointer string) bool {
	return slices.ContainsFunc(l.problems, func(p Problem) bool { return p.File == f.Name && p.Pointer == pointer })
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
		add(baseURL+f.Path, string(f.Data))
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
func (l *loader) inOrder() []*File {
	return slices.SortedFunc(maps.Values(l.files), func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
}

// sound returns the files that can be compiled, sorted by URL.
func (l *loader) sound() []*File {
	return slices.DeleteFunc(l.inOrder(), func(f *File) bool { return l.unsound[f] })
}

// mayName reports whether an unsound file may define a type, so that references to
// that type cannot be checked.
func (l *loader) mayName(typeName string) bool {
	for _, f := range l.files {
		r, _ := f.Content["x-resource"].(map[string]any)
		if l.unsound[f] && !f.Common && r["path"] == typeName {
			return true
		}
	}
	return slices.ContainsFunc(l.unread, func(f *File) bool { return f.Path == typeName+".json" })
}

// walkFile calls visit for each schema of a file, including the conditions of its
// rules.
func walkFile(f *File, visit func(at string, schema map[string]any)) {
	dialect.Walk("", f.Content, visit)
	for _, when := range conditions(f) {
		dialect.Walk(when, document.Lookup(f.Content, when), visit)
	}
}

// conditions returns the pointers to the schemas in rules.
func conditions(f *File) (list []string) {
	for _, k := range keyword.OfTypes() {
		if k.Conditional {
			k.Each(f.Content, func(at string, _ map[string]any) { list = append(list, at+"/when") })
		}
	}
	return list
}

// Options describe the application whose schemas are loaded.
type Options struct {
	// Messages is the catalogue to which schemas add messages; nil is that of the
	// engine.
	Messages *message.Catalogue
	// Paths are the paths below /api/v1 that types cannot have.
	Paths []string
	// DefaultPermission is required to write types that name no permission; "" is the
	// constant DefaultPermission.
	DefaultPermission string
	// Permissions are added to those that the schema of roles lists, as is
	// DefaultPermission. They are the built-in permissions.
	Permissions []string
}

// Load is LoadWith without options.
func Load(sources ...Source) (*Registry, error) { return LoadWith(Options{}, sources...) }

// LoadWith reads, checks and compiles the files of all sources. The error is of
// type Problems, with the results of all checks. A later source can add files but
// not replace any.
func LoadWith(options Options, sources ...Source) (*Registry, error) {
	if options.Messages == nil {
		options.Messages = message.BuiltIn()
	}
	set := files.Read(sources...)
	l := &loader{options: options, files: set.Files, unread: set.Unread, problems: set.Problems, unsound: map[*File]bool{}}
	l.checkVocabulary()
	l.addPermissions()
	l.checkPlaces()
	l.checkTested()
	l.checkContradictions()
	l.leaveOutFaults()
	types, declared := l.compile()
	l.lint(types)
	if len(l.problems) > 0 {
		return nil, l.problems.Sorted(l.files)
	}
	r, err := newRegistry(types, l.files, l.options.Messages, declared, l.digest())
	if err == nil {
		r.hints = l.hints.Sorted(l.files)
	}
	return r, err
}
