package schema

import (
	"slices"

	"marquee/engine/message"
	"marquee/engine/schema/files"
)

// What the files of a set are, and the problems in them.
type (
	Source   = files.Source
	File     = files.File
	Problem  = files.Problem
	Problems = files.Problems
)

// Registry is a set of types with the catalogue of their messages. It is
// immutable, and replaced as a whole.
type Registry struct {
	// types are by collection, in names in the order of their names; collections has that of
	// each path, present or former, and paths the present path of each collection. Both include
	// those of types that are left out (Without).
	types       map[string]*Type
	names       []string
	collections map[string]string
	paths       map[string]string
	files       map[string]*File
	catalogue   *message.Catalogue
	digest      string
	hints       Problems
	// messages is the catalogue without what the types declare.
	messages *message.Catalogue
	declared []*message.Definition
}

// Without returns the set without the types that are hidden, without the properties of others
// whose permissions are lacking, and without the messages that these alone declare. It is
// for documents: types that remain can refer to hidden ones, and are in their served form.
func (r *Registry) Without(hidden func(*Type) bool, lacks func(t *Type, permission string) bool) *Registry {
	r = r.Served()
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
	rest := &Registry{types: map[string]*Type{}, collections: r.collections, paths: r.paths, files: r.files, digest: r.digest, messages: r.messages}
	for _, t := range kept {
		rest.types[t.Collection()] = t
		rest.names = append(rest.names, t.Collection())
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

// Type finds a type by its stored name, which is that of its collection.
func (r *Registry) Type(collection string) (*Type, bool) {
	t, ok := r.types[collection]
	return t, ok
}

// Named finds a type by its path, or by one that it had.
func (r *Registry) Named(path string) (*Type, bool) { return r.Type(r.collections[path]) }

// Path returns the path of the type with a stored name, also if the type is left out, or that
// name if there is none.
func (r *Registry) Path(collection string) string { return inPlaceOf(r.paths)(collection) }

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
		if f.Common {
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

// DropValidation removes what validates objects, a third of the memory of the types, from a set
// that nobody else uses. It can be compared with others then, but not be served.
func (r *Registry) DropValidation() {
	for _, t := range r.types {
		t.rules.Schema = nil
	}
}

func newRegistry(types []*Type, files map[string]*File, messages *message.Catalogue, declared []*message.Definition, digest string) (*Registry, error) {
	catalogue, err := messages.With(declared...)
	if err != nil {
		return nil, Problems{{File: "schemas", Text: err.Error(), Cure: "give each code one text"}}
	}
	r := &Registry{types: map[string]*Type{}, collections: map[string]string{}, paths: map[string]string{}, files: files, catalogue: catalogue, digest: digest, messages: messages, declared: declared}
	for _, t := range types {
		r.types[t.Collection()] = t
		r.names = append(r.names, t.Collection())
		r.paths[t.Collection()] = t.Name
		for _, path := range t.RequestPaths() {
			r.collections[path] = t.Collection()
		}
	}
	slices.Sort(r.names)
	referByCollection(types, r.collections)
	for _, t := range types {
		t.resolveOwners(r.types)
		t.resolveTargets(r.types)
	}
	for _, t := range types {
		if t.renamed != nil {
			stored := t.storedForm()
			stored.names = t.renamed
			stored.resolveTargets(r.types)
			t.stored = stored
		}
	}
	for _, t := range types {
		if t.stored != nil {
			r.types[t.stored.Name] = t.stored
		}
	}
	return r, nil
}
