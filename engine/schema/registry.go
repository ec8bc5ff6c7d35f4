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
	files     map[string]*File
	catalogue *message.Catalogue
	digest    string
	hints     Problems
	// messages is the catalogue without what the types declare.
	messages *message.Catalogue
	declared []*message.Definition
}

// Without returns the set without the types that are hidden, without the properties of others
// whose permissions are lacking, and without the messages that these alone declare. It is
// for documents: types that remain can refer to hidden ones.
func (r *Registry) Without(hidden func(*Type) bool, lacks func(t *Type, permission string) bool) *Registry {
	kept := slices.DeleteFunc(r.Types(), hidden)
	whole := len(kept) == len(r.names)
	for i, t := range kept {
		kept[i] = t.Without(func(permission string) bool { return lacks(t, permission) })
		whole = whole && kept[i] == t
	}
	if whole {
		return r
	}
	used := map[string]bool{}
	rest := &Registry{types: map[string]*Type{}, files: r.files, digest: r.digest, messages: r.messages}
	for _, t := range kept {
		rest.types[t.Name] = t
		rest.names = append(rest.names, t.Name)
		for _, rule := range t.Rules {
			if rule.Message != nil {
				used[rule.Message.Code] = true
			}
		}
	}
	for _, d := range r.declared {
		if used[d.Code] {
			rest.declared = append(rest.declared, d)
		}
	}
	rest.catalogue, _ = r.messages.With(rest.declared...) // some of those that fit together
	return rest
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
func (r *Registry) Shared() map[string]map[string]any {
	shared := map[string]map[string]any{}
	for name, f := range r.files {
		if f.common {
			shared[name] = f.Content
		}
	}
	return shared
}

// Files returns the files of the set by their paths in the folder, such as orders.json and
// common/money.json.
func (r *Registry) Files() map[string]*File { return r.files }

// Catalogue returns the catalogue of all messages that the service can send.
func (r *Registry) Catalogue() *message.Catalogue { return r.catalogue }

// Digest identifies the set: it is the same for the same files and options, wherever they
// were read, and another one if anything in a file differs.
func (r *Registry) Digest() string { return r.digest }

// Hints returns what the schemas could say better, or in a simpler way.
func (r *Registry) Hints() Problems { return r.hints }

// Problem is a mistake in a schema file.
type Problem struct {
	// File and Pointer, a JSON Pointer, are the location.
	File, Pointer string
	// Line and Column are the place in the file, from 1; 0 if unknown. Columns count
	// characters.
	Line, Column int
	// Hint reports whether the schema does what it says, and could say it better. It is
	// not a mistake.
	Hint bool
	// Text describes the mistake, Cure how to correct it.
	Text, Cure string
	// Objects describe the stored objects that are at fault, or groups of them.
	Objects []string
}

// String returns the problem on one line.
func (p Problem) String() string {
	var text string
	if p.Hint {
		text = "hint: "
	}
	text += p.File
	if p.Pointer != "" {
		text += "#" + p.Pointer
	}
	text += ": " + p.Text
	if len(p.Objects) > 0 {
		text += ": " + strings.Join(p.Objects, "; ")
	}
	if p.Cure != "" {
		text += " (" + p.Cure + ")"
	}
	if p.Line > 0 {
		text += ", line " + strconv.Itoa(p.Line)
	}
	if p.Column > 0 {
		text += ", column " + strconv.Itoa(p.Column)
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

// Passing reports whether the problems can pass without a change of the schemas, because
// one of them is that of stored objects.
func (p Problems) Passing() bool {
	return slices.ContainsFunc(p, func(problem Problem) bool { return len(problem.Objects) > 0 })
}

// Public returns the problems without the stored objects, for those who may not see them.
func (p Problems) Public() Problems {
	public := slices.Clone(p)
	for i := range public {
		public[i].Objects = nil
	}
	return public
}

func newRegistry(types []*Type, files map[string]*File, messages *message.Catalogue, declared []*message.Definition, digest string) (*Registry, error) {
	catalogue, err := messages.With(declared...)
	if err != nil {
		return nil, Problems{{File: "schemas", Text: err.Error(), Cure: "give each code one text"}}
	}
	r := &Registry{types: map[string]*Type{}, files: files, catalogue: catalogue, digest: digest, messages: messages, declared: declared}
	for _, t := range types {
		r.types[t.Name] = t
		r.names = append(r.names, t.Name)
	}
	slices.Sort(r.names)
	for _, t := range types {
		t.resolveOwners(r.types)
		t.resolveTargets(r.types)
	}
	return r, nil
}
