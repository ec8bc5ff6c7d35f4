package schema

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/parallel"
	"marquee/engine/schema/dialect"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/validation"
)

const (
	vocabularyURL = "https://marquee.dev/schema/vocabulary"
	draft         = "https://json-schema.org/draft/2020-12/schema"
)

// metaSchema is the compiled vocabulary, which all loads of a program share, because
// compiling it takes longer than loading a small folder.
type metaSchema struct {
	forTypes, forCommon *jsonschema.Schema
	raw                 validation.Schemas
}

var vocabulary = sync.OnceValue(func() metaSchema {
	raw := validation.Schemas{vocabularyURL: keyword.Vocabulary()}
	compiler := validation.NewCompiler(raw)
	return metaSchema{forTypes: compiler.MustCompile(vocabularyURL), forCommon: compiler.MustCompile(vocabularyURL + "#/$defs/common"), raw: raw}
})

// valid has the digests of files that the meta-schema accepts, so that loading the same
// files again, as a reload does, checks those alone that have changed.
var valid digests

// digests is a set of at most maxDigests, which begins anew when it is full.
type digests struct {
	mu  sync.Mutex
	set map[[sha256.Size]byte]bool
}

const maxDigests = 4096

func (d *digests) has(digest [sha256.Size]byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set[digest]
}

func (d *digests) add(digest [sha256.Size]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.set == nil || len(d.set) >= maxDigests {
		d.set = map[[sha256.Size]byte]bool{}
	}
	d.set[digest] = true
}

// checkVocabulary validates every file against the meta-schema, before its content is
// changed.
func (l *loader) checkVocabulary() {
	m, files := vocabulary(), l.inOrder()
	faults := make([][]message.Message, len(files))
	err := parallel.Do(len(files), func() func(int) error {
		return func(i int) error { faults[i] = m.faults(files[i]); return nil }
	})
	if err != nil {
		panic("schema: the vocabulary: " + err.Error())
	}
	for i, f := range files {
		if declared, ok := f.Content["$schema"].(string); ok && declared != draft {
			l.unsound[f] = true
			l.problem(f, "/$schema", "only draft 2020-12 is supported", `write "`+draft+`"`)
			continue
		}
		for _, fault := range faults[i] {
			l.vocabularyProblem(f, fault)
		}
	}
}

// faults returns what the meta-schema finds in a file.
func (m metaSchema) faults(f *File) []message.Message {
	meta, digest := m.forTypes, sha256.Sum256(f.Data)
	if f.Common {
		meta = m.forCommon
		digest[0] ^= 1 // what a common file may have, a type may not
	}
	if valid.has(digest) {
		return nil
	}
	if accepted, err := validation.Accepts(context.Background(), meta, f.Content); accepted && err == nil {
		valid.add(digest)
		return nil
	}
	var invalid *jsonschema.ValidationError
	if errors.As(meta.Validate(f.Content), &invalid) {
		return m.raw.Explain(invalid, f.Content)
	}
	return nil
}

// vocabularyProblem explains a fault that the meta-schema finds to the author of a
// schema. An unknown keyword does not prevent compilation, as later steps ignore
// it.
func (l *loader) vocabularyProblem(f *File, fault message.Message) {
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
			pattern, _ := dialect.CutToken("/" + name)
			text, cure = dialect.BadPattern(pattern)
		}
	case message.ValueExcluded:
		if name == "idProperty" {
			text, cure = "idProperty is a second name of id and cannot be the name of a common field", "choose another name"
		}
	case message.ValueFormat:
		if pattern, ok := document.Lookup(f.Content, at).(string); ok && name == "pattern" {
			text, cure = dialect.BadPattern(pattern)
		}
	case message.ValuePattern:
		if name == "$ref" {
			text, cure = notReached, refCure
		}
	}
	say(f, at, text, cure)
}
