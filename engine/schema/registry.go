package schema

import (
	"slices"
	"strconv"
	"strings"

	"marquee/engine/message"
)

// Registry is a set of types with the catalogue of their messages. It is
// immutable, and replaced as a whole.
type Registry struct {
	types     map[string]*Type
	names     []string
	shared    map[string]map[string]any
	catalogue *message.Catalogue
}

// Type finds a type by its name.
func (r *Registry) Type(name string) (*Type, bool) {
	t, ok := r.types[name]
	return t, ok
}

// Types returns the types sorted by name.
func (r *Registry) Types() []*Type {
	types := make([]*Type, len(r.names))
	for i, name := range r.names {
		types[i] = r.types[name]
	}
	return types
}

// Shared returns the definitions in the folder common, by paths such as
// common/money.json. They must not be changed.
func (r *Registry) Shared() map[string]map[string]any { return r.shared }

// Catalogue returns the catalogue of all messages that the service can send.
func (r *Registry) Catalogue() *message.Catalogue { return r.catalogue }

// Problem is a mistake in a schema file.
type Problem struct {
	// File and Pointer, a JSON Pointer, are the location.
	File, Pointer string
	// Line is the line in the file, from 1; 0 if unknown.
	Line int
	// Text describes the mistake, Cure how to correct it.
	Text, Cure string
}

// String returns the problem on one line.
func (p Problem) String() string {
	text := p.File
	if p.Pointer != "" {
		text += "#" + p.Pointer
	}
	text += ": " + p.Text
	if p.Cure != "" {
		text += " (" + p.Cure + ")"
	}
	if p.Line > 0 {
		text += ", line " + strconv.Itoa(p.Line)
	}
	return text
}

// Problems is the error of Load: all mistakes found.
type Problems []Problem

// Error returns the problems, one on each line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

func newRegistry(types []*Type, shared map[string]map[string]any, messages *message.Catalogue, declared []*message.Definition) (*Registry, error) {
	catalogue, err := messages.With(declared...)
	if err != nil {
		return nil, Problems{{File: "schemas", Text: err.Error(), Cure: "give each code one text"}}
	}
	r := &Registry{types: map[string]*Type{}, shared: shared, catalogue: catalogue}
	for _, t := range types {
		r.types[t.Name] = t
		r.names = append(r.names, t.Name)
	}
	slices.Sort(r.names)
	for _, t := range types {
		t.resolveTeam(r.types)
	}
	return r, nil
}
