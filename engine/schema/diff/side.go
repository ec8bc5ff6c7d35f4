package diff

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"marquee/engine/document"
	"marquee/engine/schema"
)

// side is one of the two sets.
type side struct {
	registry *schema.Registry
	// renamed are the types with two forms, by the paths of their files, and files the files
	// with names that are stored otherwise, under the stored names.
	renamed map[string]*schema.Type
	files   map[string]*schema.File
	digests map[place]string
	// left is the number of schemas that digests may still be made of.
	left int
}

// maxDigested is the maximum number of schemas of a set that digests are made of, some more
// than once if they refer to each other in cycles. 500 types of 50 properties have 26,000.
const maxDigested = 300_000

// place is a place in a file.
type place struct {
	file    *schema.File
	pointer string
}

func (p place) in(tokens ...string) place {
	return place{p.file, p.pointer + document.Pointer(tokens).String()}
}

// content returns the value at the place.
func (p place) content() any { return document.Lookup(p.file.Content, p.pointer) }

func newSide(registry *schema.Registry) *side {
	s := &side{registry: registry, digests: map[place]string{}, left: maxDigested, renamed: map[string]*schema.Type{}, files: map[string]*schema.File{}}
	for _, t := range registry.Types() {
		if t.Served() != t {
			file := *registry.Files()[t.Path]
			file.Content = storedContent(t)
			s.renamed[t.Path], s.files[t.Path] = t, &file
		}
	}
	if slices.ContainsFunc(registry.Types(), func(t *schema.Type) bool { return len(t.Was) > 0 }) {
		for path := range registry.Files() {
			file := *s.file(path)
			file.Content, _ = storedReferences(file.Content, registry).(map[string]any)
			s.files[path] = &file
		}
	}
	return s
}

// file returns the file at a path, under the stored names.
func (s *side) file(path string) *schema.File {
	if file := s.files[path]; file != nil {
		return file
	}
	return s.registry.Files()[path]
}

// root returns the place of a type.
func (s *side) root(t *schema.Type) place { return place{file: s.file(t.Path)} }

// target returns the schema that a $ref of a file refers to, which exists in a set that
// has been loaded.
func (s *side) target(from *schema.File, ref string) place {
	base, fragment, _ := strings.Cut(ref, "#")
	file := from
	if base != "" {
		file = s.file(path.Join(path.Dir(from.Path), base))
	}
	pointer, _ := url.PathUnescape(fragment)
	return place{file, pointer}
}

// value is the schemas that always apply to a value: the one at its place, and those that
// it refers to or combines with allOf.
type value struct {
	schemas []located
	// refused is the place of one that is false, if there is one.
	refused place
	shape   *document.Shape
	// of is the type, for the objects of a type.
	of *schema.Type
}

// written returns the name of a member as it is written.
func (v value) written(name string) string {
	if v.of != nil {
		return v.of.ServedName(name)
	}
	return name
}

// located is a schema with its place.
type located struct {
	place
	keywords map[string]any
}

// stated is the value of a keyword, with its place and that of the schema.
type stated struct {
	value      any
	at, schema place
}

// value returns the schemas that apply at places.
func (s *side) value(shape *document.Shape, at ...place) value {
	v := value{shape: shape}
	seen := map[place]bool{}
	var add func(place)
	add = func(p place) {
		if seen[p] || p.file == nil {
			return
		}
		seen[p] = true
		switch content := p.content().(type) {
		case bool:
			if !content {
				v.refused = p
			}
		case map[string]any:
			v.schemas = append(v.schemas, located{p, content})
			if ref, ok := content["$ref"].(string); ok {
				add(s.target(p.file, ref))
			}
			all, _ := content["allOf"].([]any)
			for i := range all {
				add(p.in("allOf", strconv.Itoa(i)))
			}
		}
	}
	for _, p := range at {
		add(p)
	}
	return v
}

// never reports whether no value is valid, because of a schema that is false.
func (v value) never() bool { return v.refused != place{} }

// first returns the place of the first schema, if there is one.
func (v value) first() place {
	if len(v.schemas) == 0 {
		return place{}
	}
	return v.schemas[0].place
}

// all returns the values of a keyword.
func (v value) all(name string) (list []stated) {
	for _, p := range v.schemas {
		if value, there := p.keywords[name]; there {
			list = append(list, stated{value, p.in(name), p.place})
		}
	}
	return list
}

// key identifies the schemas of a value.
func (v value) key() string {
	texts := make([]string, len(v.schemas))
	for i, p := range v.schemas {
		texts[i] = p.file.Path + "#" + p.pointer
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}
