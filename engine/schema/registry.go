package schema

import (
	"slices"
	"strings"

	"marquee/engine/message"
)

// Registry is the set of types that are served, with the catalogue of their
// messages. It is an immutable value, swapped as a whole.
type Registry struct {
	types     map[string]*Type
	names     []string
	catalogue *message.Catalogue
}

// Type finds a type by its name.
func (r *Registry) Type(name string) (*Type, bool) {
	t, ok := r.types[name]
	return t, ok
}

// Types lists the types in the order of their names.
func (r *Registry) Types() []*Type {
	types := make([]*Type, len(r.names))
	for i, name := range r.names {
		types[i] = r.types[name]
	}
	return types
}

// Catalogue holds every message that can leave the service.
func (r *Registry) Catalogue() *message.Catalogue { return r.catalogue }

// Problem is a mistake in a schema file.
type Problem struct {
	// File and Pointer (a JSON Pointer) say where.
	File, Pointer string
	// Text says what is wrong, Cure what to do.
	Text, Cure string
}

// String is the problem on one line.
func (p Problem) String() string {
	text := p.File
	if p.Pointer != "" {
		text += "#" + p.Pointer
	}
	text += ": " + p.Text
	if p.Cure != "" {
		text += " (" + p.Cure + ")"
	}
	return text
}

// Problems is the error of Load: all mistakes that were found.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

func newRegistry(types []*Type, declared []*message.Definition) (*Registry, error) {
	catalogue, err := message.NewCatalogue(declared)
	if err != nil {
		return nil, Problems{{File: "schemas", Text: err.Error(), Cure: "give each code one text"}}
	}
	r := &Registry{types: map[string]*Type{}, catalogue: catalogue}
	for _, t := range types {
		r.types[t.Name] = t
		r.names = append(r.names, t.Name)
	}
	slices.Sort(r.names)
	return r, nil
}
