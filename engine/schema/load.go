package schema

import (
	"embed"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
)

//go:embed vocabulary.json
var vocabulary embed.FS

const (
	baseURL       = "marquee:///"
	vocabularyURL = "https://marquee.dev/schema/vocabulary"
	dialect       = "https://json-schema.org/draft/2020-12/schema"
	maxFileBytes  = 1 << 20
	maxFiles      = 2000
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
	// DefaultPermission.
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
	l := &loader{options: options, files: map[string]*file{}}
	for i, source := range sources {
		l.read(i, source)
	}
	l.addPermissions()
	l.checkVocabulary()
	l.checkPlaces()
	l.checkTested()
	l.checkContradictions()
	l.omit()
	types, declared := l.compile()
	l.lint(types)
	if len(l.problems) > 0 {
		return nil, l.sorted()
	}
	return newRegistry(types, l.shared(), l.options.Messages, declared)
}

// shared returns the content of the files in the folder common.
func (l *loader) shared() map[string]map[string]any {
	shared := map[string]map[string]any{}
	for url, f := range l.files {
		if f.common {
			shared[strings.TrimPrefix(url, baseURL)] = f.content
		}
	}
	return shared
}

type loader struct {
	options  Options
	files    map[string]*file // by URL
	unread   []*file          // files without content
	problems Problems
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

// reported reports whether there is a problem at a place.
func (l *loader) reported(f *file, pointer string) bool {
	return slices.ContainsFunc(l.problems, func(p Problem) bool { return p.File == f.name && p.Pointer == pointer })
}

func (l *loader) sorted() Problems {
	l.number()
	slices.SortFunc(l.problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(l.problems)
}

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

// checkVocabulary validates every file against the meta-schema.
func (l *loader) checkVocabulary() {
	compiler := newCompiler()
	data, _ := vocabulary.ReadFile("vocabulary.json")
	content, err := document.DecodeObject(data, document.Limits{Depth: 64})
	if err == nil {
		err = addResource(compiler, vocabularyURL, content)
	}
	if err != nil {
		panic("schema: vocabulary.json: " + err.Error())
	}
	forTypes, forCommon := compiler.MustCompile(vocabularyURL), compiler.MustCompile(vocabularyURL+"#/$defs/common")
	raw := rawSchemas{vocabularyURL: content}
	for _, f := range l.inOrder() {
		if declared, ok := f.content["$schema"].(string); ok && declared != dialect {
			f.unsound = true
			l.problem(f, "/$schema", "only draft 2020-12 is supported", `write "`+dialect+`"`)
			continue
		}
		meta := forTypes
		if f.common {
			meta = forCommon
		}
		err := meta.Validate(f.content)
		var invalid *jsonschema.ValidationError
		if errors.As(err, &invalid) {
			for _, fault := range raw.explain(invalid, f.content) {
				l.vocabularyProblem(f, fault)
			}
		}
	}
}

// vocabularyProblem explains a fault that the meta-schema finds to the author of a
// schema. An unknown keyword does not prevent compilation, as later steps ignore
// it.
func (l *loader) vocabularyProblem(f *file, fault message.Message) {
	at, _ := fault.Param("field").(string)
	parent, name := at[:max(strings.LastIndexByte(at, '/'), 0)], at[strings.LastIndexByte(at, '/')+1:]
	text, cure := strings.TrimSuffix(strings.TrimPrefix(fault.String(), at+" "), "."), "see docs/reference/schema-vocabulary.md"
	say := l.problem
	switch fault.Definition() {
	case message.PropertyUnknown:
		text, say = "this keyword is not known here", l.report
	case message.PropertyForbidden:
		say, text = l.report, "this keyword is not known here"
		if parent == "/properties" && CommonField(name) {
			text, cure = name+" is implied", "leave it out"
		}
	case message.PropertyName:
		text = "this name is not allowed here"
		if strings.HasSuffix(parent, "/patternProperties") {
			pattern, _ := cutToken("/" + name)
			text, cure = badPattern(pattern)
		}
	case message.ValueExcluded:
		if name == "idProperty" {
			text, cure = "idProperty is a second name of id and cannot be the name of a common field", "choose another name"
		}
	case message.ValueFormat:
		if pattern, ok := lookup(f.content, at).(string); ok && name == "pattern" {
			text, cure = badPattern(pattern)
		}
	case message.ValuePattern:
		if name == "$ref" {
			text, cure = notReached, refCure
		}
	}
	say(f, at, text, cure)
}

func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	c.Formats = formats
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, errors.New("a schema can refer to files of its folder and of common/ only, not to " + url)
	}
	return c
}

func addResource(c *jsonschema.Compiler, url string, content map[string]any) error {
	return c.AddResource(url, strings.NewReader(string(document.Append(nil, content))))
}
