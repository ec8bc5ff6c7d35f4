package schema

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
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

// Source is a folder of schema files: one type a file, and shared definitions
// in the folder common.
type Source struct {
	// Name is how problems call the folder; "" is the built-in one.
	Name string
	FS   fs.FS
}

// file is one schema file.
type file struct {
	// name is path as problems show it, url what $ref resolves against.
	name, url string
	common    bool
	content   map[string]any
}

// Load reads, checks and compiles the files of all sources together; an error
// is of type Problems. A later source can add files, and replace none.
func Load(sources ...Source) (*Registry, error) {
	l := &loader{files: map[string]*file{}}
	for _, source := range sources {
		l.read(source)
	}
	if len(l.problems) == 0 {
		l.checkVocabulary()
	}
	if len(l.problems) == 0 {
		l.checkPlaces()
	}
	if len(l.problems) > 0 {
		return nil, l.sorted()
	}
	types, declared := l.compile()
	if len(l.problems) == 0 {
		l.lint(types)
	}
	if len(l.problems) > 0 {
		return nil, l.sorted()
	}
	return newRegistry(types, declared)
}

type loader struct {
	files    map[string]*file // by url
	problems Problems
	// refs tells where each reference was declared, once all is compiled.
	refs map[*document.Reference]location
}

func (l *loader) problem(f *file, pointer, text, cure string) {
	l.problems = append(l.problems, Problem{File: f.name, Pointer: pointer, Text: text, Cure: cure})
}

func (l *loader) sorted() Problems {
	slices.SortFunc(l.problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(l.problems)
}

// inOrder lists the files in the order of their urls.
func (l *loader) inOrder() []*file {
	files := make([]*file, 0, len(l.files))
	for _, f := range l.files {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.url, b.url) })
	return files
}

func (l *loader) read(source Source) {
	for _, folder := range []string{".", "common"} {
		entries, err := fs.ReadDir(source.FS, folder)
		if errors.Is(err, fs.ErrNotExist) && folder == "common" {
			continue
		}
		if err != nil {
			l.problems = append(l.problems, Problem{File: path.Join(source.Name, folder), Text: "the folder cannot be read: " + reason(err)})
			continue
		}
		if len(entries) > maxFiles {
			l.problems = append(l.problems, Problem{File: path.Join(source.Name, folder), Text: fmt.Sprintf("the folder holds more than %d files", maxFiles)})
			continue
		}
		for _, entry := range entries {
			if path.Ext(entry.Name()) == ".json" && !strings.HasPrefix(entry.Name(), ".") {
				l.readFile(source, path.Join(folder, entry.Name()), folder == "common")
			}
		}
	}
}

func (l *loader) readFile(source Source, name string, common bool) {
	f := &file{name: path.Join(source.Name, name), url: baseURL + name, common: common}
	if !plainName(strings.TrimSuffix(path.Base(name), ".json")) {
		l.problem(f, "", "a file name consists of letters, digits, _ and -", "rename it")
		return
	}
	if other, taken := l.files[f.url]; taken {
		l.problem(f, "", "there is a schema of this name already, "+other.name, "choose another file name")
		return
	}
	data, err := readBounded(source.FS, name)
	if err != nil {
		l.problem(f, "", "the file cannot be read: "+reason(err), "")
		return
	}
	content, err := document.DecodeObject(data, document.Limits{Depth: 64})
	if err != nil {
		l.problem(f, "", err.Error(), "a schema file is one JSON object")
		return
	}
	f.content = content
	l.files[f.url] = f
}

// readBounded reads a regular file; a link that leads elsewhere is not
// followed out of the folder by the sources' file systems (os.Root).
func readBounded(fsys fs.FS, name string) ([]byte, error) {
	r, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if len(data) > maxFileBytes {
		err = fmt.Errorf("it is larger than %d bytes", maxFileBytes)
	}
	return data, err
}

func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// checkVocabulary holds every file against the meta-schema.
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
			l.problem(f, "/$schema", "only draft 2020-12 is understood", `write "`+dialect+`"`)
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

// vocabularyProblem says in the words of a schema's author what the
// meta-schema has against it.
func (l *loader) vocabularyProblem(f *file, fault message.Message) {
	at, _ := fault.Param("field").(string)
	parent, name := at[:max(strings.LastIndexByte(at, '/'), 0)], at[strings.LastIndexByte(at, '/')+1:]
	text, cure := strings.TrimPrefix(fault.String(), at+" "), "see docs/schema-vocabulary.md"
	switch fault.Definition() {
	case message.PropertyUnknown:
		text = "this keyword is not known here"
	case message.PropertyForbidden:
		text = "this keyword is not known here"
		if parent == "/properties" && CommonField(name) {
			text, cure = name+" is implied", "leave it out"
		}
	case message.PropertyName:
		text = "this name is not allowed here"
		if strings.HasSuffix(parent, "/patternProperties") {
			text = "the name must be a regular expression"
		}
	case message.ValuePattern:
		if name == "$ref" {
			text, cure = notReached, refCure
		}
	}
	l.problem(f, at, text, cure)
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
