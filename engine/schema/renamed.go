package schema

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/keyword"
)

// A type that was renamed (was), or has renamed properties (x-was), has two forms. The served
// one is what its file says. The stored one has the first path of the type as its name, and the
// same properties under the names of documents, index terms, claims and the history. It is the
// one that a registry returns: everything between the paths, parameters and bodies of requests
// and their answers uses stored names alone, and judges objects by the rules of the served form.
// References (document.Reference) have stored names of types in both forms. Of other types,
// there is only one form.

// renames are the names of the renamed top-level properties of a type: Type.renamed has all of them,
// for documents, and Type.names those that exist for its callers (Without). No name is both
// that of a document and one that is served, of whatever property.
type renames struct {
	// stored has the name in documents by each other name, served the present name by the
	// one in documents, and present the name in documents by the present one.
	stored, served, present map[string]string
}

// namesOf returns the names of the renamed properties of a type, nil if it has one form.
func namesOf(t *Type) *renames {
	n := &renames{map[string]string{}, map[string]string{}, map[string]string{}}
	for name, member := range t.Shape.Properties {
		former := keyword.Was(member)
		if len(former) == 0 {
			continue
		}
		if name != former[0] { // otherwise, a rename was taken back
			n.served[former[0]], n.present[name], n.stored[name] = name, former[0], former[0]
		}
		for _, other := range former[1:] {
			n.stored[other] = former[0]
		}
	}
	if len(n.stored)+len(t.Was) == 0 {
		return nil
	}
	return n
}

// Collection returns the name of the collection of the type's objects, which is its first path.
func (t *Type) Collection() string {
	if len(t.Was) > 0 {
		return t.Was[0]
	}
	return t.Name
}

// RequestPaths returns the paths that requests can use, the present one first.
func (t *Type) RequestPaths() []string {
	present := t.Served().Name
	return append([]string{present}, slices.DeleteFunc(slices.Clone(t.Was), func(path string) bool { return path == present })...)
}

// referByCollection gives the references in the shapes of some types the stored names of the
// types that they lead to.
func referByCollection(types []*Type, collections map[string]string) {
	all := map[*document.Shape]bool{}
	for _, t := range types {
		for shape := range t.Shape.All() {
			all[shape] = true
		}
	}
	for shape := range all {
		if shape.Ref != nil {
			shape.Ref.Type = inPlaceOf(collections)(shape.Ref.Type)
		}
	}
}

func inPlaceOf(names map[string]string) func(string) string {
	return func(name string) string {
		if other, renamed := names[name]; renamed {
			return other
		}
		return name
	}
}

// Served returns the type as its file describes it, which documents show. Other types of a
// registry have the names of properties that are stored.
func (t *Type) Served() *Type {
	if t.served != nil {
		return t.served
	}
	return t
}

// Served returns the set with the served forms of its types, for documents and comparisons.
func (r *Registry) Served() *Registry {
	if !slices.ContainsFunc(r.Types(), func(t *Type) bool { return t.served != nil }) {
		return r
	}
	served := *r
	served.types = make(map[string]*Type, len(r.types))
	for name, t := range r.types {
		served.types[name] = t.Served()
	}
	served.names = slices.SortedFunc(slices.Values(r.names), func(a, b string) int { return cmp.Compare(served.types[a].Name, served.types[b].Name) })
	return &served
}

// Shown returns a message with the path of the type that its parameter type names. Messages
// about types that do not exist for the caller keep the name that was sent.
func (r *Registry) Shown(m message.Message) message.Message {
	if m.Definition() == message.TypeUnknown || m.Definition() == message.BatchTypeUnknown {
		return m
	}
	collection, _ := m.Param("type").(string)
	path := r.Path(collection)
	if path == collection {
		return m
	}
	params := maps.Clone(m.Params())
	params["type"] = path
	return m.Definition().With(params)
}

// StoredName returns the name of a top-level property in documents, by its present name or a
// former one. Other names are returned as they are.
func (t *Type) StoredName(name string) string {
	if t.names == nil {
		return name
	}
	return inPlaceOf(t.names.stored)(name)
}

// ServedName returns the present name of a top-level property by the one in documents.
func (t *Type) ServedName(name string) string {
	if t.names == nil {
		return name
	}
	return inPlaceOf(t.names.served)(name)
}

// FormerNames returns the names that a top-level property had, by the one in documents.
func (t *Type) FormerNames(stored string) []string {
	return slices.Clone(keyword.Was(t.Shape.Properties[stored]))
}

// StoredPath is StoredName for the first name of a dotted path.
func (t *Type) StoredPath(path string) string {
	if t.names == nil {
		return path
	}
	return document.RenamedPath(path, t.StoredName)
}

// ServedPointer is ServedName for the first name of a JSON Pointer.
func (t *Type) ServedPointer(pointer string) string {
	if t.names == nil || !strings.HasPrefix(pointer, "/") {
		return pointer
	}
	return document.RenamedPointer(pointer, t.ServedName)
}

// ServedObject returns a document with the present names of its properties. It shares the
// values of the document.
func (t *Type) ServedObject(object map[string]any) map[string]any {
	if t.renamed == nil || len(t.renamed.served) == 0 {
		return object
	}
	return document.RenamedMembers(object, t.renamed.served)
}

// ToStored gives the members of an object that a client has sent the names that documents
// have, in place. Two names of one property with different values are reported: the present
// one, and another that was sent.
func (t *Type) ToStored(object map[string]any, differ func(present, other string)) {
	if t.names == nil {
		return
	}
	sentAs := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t.names.stored)) {
		value, sent := object[name]
		if !sent {
			continue
		}
		stored := t.names.stored[name]
		present, other := t.ServedName(stored), name
		if name == present {
			other = cmp.Or(sentAs[stored], stored)
		}
		if was, both := object[stored]; both && !document.Equal(value, was) {
			differ(present, other)
		}
		object[stored], sentAs[stored] = value, name
		delete(object, name)
	}
}

// pointerParams are the parameters of messages that are pointers, or several after commas.
var pointerParams = []string{"field", "other", "others"}

// ServedParams returns the parameters of a message with the present names of properties.
func (t *Type) ServedParams(params message.Params) message.Params {
	if t.names == nil {
		return params
	}
	return renamedParams(params, t.ServedName)
}

func renamedParams(params message.Params, name func(string) string) message.Params {
	renamed := maps.Clone(params)
	for _, param := range pointerParams {
		text, _ := params[param].(string)
		if !strings.HasPrefix(text, "/") {
			continue
		}
		pointers := strings.Split(text, ", ")
		for i, pointer := range pointers {
			pointers[i] = document.RenamedPointer(pointer, name)
		}
		renamed[param] = strings.Join(pointers, ", ")
	}
	return renamed
}

// storedForm returns the stored form of a served type with two, but for the types that it
// refers to.
func (t *Type) storedForm() *Type {
	n := *t
	n.served, n.stored = t, nil
	n.Name = t.Collection()
	name := inPlaceOf(t.renamed.present)
	paths := func(list []string) []string {
		renamed := slices.Clone(list)
		for i, path := range renamed {
			renamed[i] = document.RenamedPath(path, name)
		}
		return renamed
	}
	n.Shape = t.Shape.Renamed(name)
	n.Label, n.Parent = name(t.Label), name(t.Parent)
	n.Search, n.Sort, n.Unique = paths(t.Search), paths(t.Sort), paths(t.Unique)
	n.Indexes = slices.Clone(t.Indexes)
	for i, index := range n.Indexes {
		n.Indexes[i] = Index{document.RenamedPath(index.Property, name), document.RenamedPath(index.Order, name)}
	}
	n.UniqueForms = slices.Clone(t.UniqueForms)
	for i, form := range n.UniqueForms {
		n.UniqueForms[i].Property = document.RenamedPath(form.Property, name)
	}
	n.renameRules(name)
	n.terms, n.searched, n.targets = nil, nil, nil
	n.prepare()
	n.amendments = findAmendments(n.Shape)
	n.seen = t.seen
	return &n
}

// renameRules gives the rules about what objects claim, and who sees them, other names of
// properties.
func (t *Type) renameRules(name func(string) string) {
	renamed := func(rule *keyword.ClaimRule) *keyword.ClaimRule {
		return rule.Renamed(name, func(ctx context.Context, object map[string]any, state string) (bool, error) {
			return rule.Meets(ctx, t.ServedObject(object), state)
		})
	}
	if t.Public != nil {
		t.Public = renamed(t.Public)
	}
	t.ClaimRules = slices.Clone(t.ClaimRules)
	for i, rule := range t.ClaimRules {
		t.ClaimRules[i] = renamed(rule)
	}
	t.Rules = slices.Clone(t.Rules)
	for i, rule := range t.Rules {
		if rule.Claim != nil {
			claims := *rule
			claims.Claim = renamed(rule.Claim)
			t.Rules[i] = &claims
		}
	}
}

// withStored sets the stored form of a type without some of its properties, as its callers
// see it. What the engine indexes is that of the whole type.
func (t *Type) withStored(whole *Type) {
	of := whole.stored
	if of == nil {
		return
	}
	n := t.storedForm()
	n.terms, n.searched, n.searchKey, n.targets = of.terms, of.searched, of.searchKey, of.targets
	n.supplied, n.sequences = of.supplied, of.sequences
	n.names = &renames{maps.Clone(t.renamed.stored), maps.Clone(t.renamed.served), maps.Clone(t.renamed.present)}
	for stored := range n.Shape.LeftOut {
		maps.DeleteFunc(n.names.stored, func(_, of string) bool { return of == stored })
		delete(n.names.present, n.names.served[stored])
		delete(n.names.served, stored)
	}
	t.stored = n
}

// judged returns a change as the rules of the served form judge it.
func (t *Type) judged(c *keyword.Change) *keyword.Change {
	served := *c
	served.Before, served.After = t.ServedObject(c.Before), t.ServedObject(c.After)
	served.Parent = inPlaceOf(t.renamed.served)(c.Parent)
	for _, list := range []*[]string{&served.Unreadable, &served.Faulty, &served.Lacked} {
		pointers := slices.Clone(*list)
		for i, pointer := range pointers {
			pointers[i] = document.RenamedPointer(pointer, inPlaceOf(t.renamed.served))
		}
		*list = pointers
	}
	return &served
}

// storedFaults returns messages of the served form with the names of documents.
func (t *Type) storedFaults(faults []message.Message) []message.Message {
	renamed := make([]message.Message, len(faults))
	for i, fault := range faults {
		renamed[i] = fault.Definition().With(renamedParams(fault.Params(), inPlaceOf(t.renamed.present)))
	}
	return renamed
}
