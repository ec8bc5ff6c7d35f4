// Package schema loads and checks folders of JSON Schemas
// (docs/reference/schema-vocabulary.md), and compiles each file to an immutable
// resource type. It knows neither stores nor HTTP. Begin reading with Type, then Load and compile.
package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/schema/keyword"
	"marquee/engine/schema/validation"
)

// Type is a compiled resource type. It is immutable.
type Type struct {
	// Name is the path of the type in its served form. In its stored form, it is the first path
	// that the type had, which names its collection (Collection); everything between requests
	// and answers uses that name.
	Name, Title, Description, Group string
	// Was are the former paths of the type, the first one first.
	Was []string
	// Global reports whether objects of the type belong to no network.
	Global     bool
	IDRequired bool
	// IDProperty is a second name of the id, or "".
	IDProperty string
	// Paths are reserved paths below the type, which are not valid ids.
	Paths []string
	// Methods are the supported methods except OPTIONS, and PATCH of an object.
	Methods []string
	// Permission is required to write objects, and Create to create them. Read is required
	// to see anything of the type; "" means any role.
	Permission, Create, Read string
	// Public decides which objects anybody may read; nil means none.
	Public *keyword.ClaimRule
	// Label is the property that references show as the name, or "".
	Label string
	// Parent is the reference whose id precedes that of an object in its path, or
	// "".
	Parent string
	// Paged reports whether all lists include page and pageSize.
	Paged bool
	// Search, Sort, Unique and Indexes are those of x-resource. Indexes also
	// includes each reference, and Unique are single properties.
	Search, Sort, Unique []string
	Indexes              []Index
	// UniqueForms are forms in which values are also unique, and ClaimRules the entries of
	// unique with several properties or a condition.
	UniqueForms []UniqueForm
	ClaimRules  []*keyword.ClaimRule
	// Team are the paths to the team of an object, or to an object that teams refer to, and
	// Owner those to the user to whom an object belongs.
	Team, Owner []string
	Shape       *document.Shape

	// Rules are those of the keywords of types.
	Rules []*keyword.Rule

	// File is the file of the type in problems, Path the one in its folder, and Source its content.
	File, Path string
	Source     map[string]any

	// concealed are the rules of a type of Without that concern what is left out, nil for
	// other types.
	concealed map[*keyword.Rule]bool
	seen      *seen

	// names and renamed are those of renamed properties, nil for a type with one form. Served is
	// set in the stored form of a type with two, and stored in the served one.
	names, renamed *renames
	served, stored *Type

	builtIn   []string
	checks    []check
	supplied  []supplied
	sequences map[string]keyword.Sequence
	rules     *validation.Rules
	terms     []query.Field
	searched  []string
	searchKey string

	amendments string
	former     [][]byte
	ownerPaths []OwnerPath
	ownerField query.Field
	named      map[string][]string
	targets    map[string]Target
}

// Index is an index on a property, ordered by another one; "" is createTime.
// Properties are dotted paths.
type Index struct{ Property, Order string }

// ObjectMethods returns the methods of a single object: PATCH besides PUT.
func (t *Type) ObjectMethods() []string {
	if slices.Contains(t.Methods, "PUT") {
		return append(slices.Clone(t.Methods), "PATCH")
	}
	return t.Methods
}

// ListMethods returns the methods of the path of the type: all but DELETE.
func (t *Type) ListMethods() []string {
	return slices.DeleteFunc(slices.Clone(t.Methods), func(method string) bool { return method == removal })
}

// Writable reports whether the type supports POST and PUT.
func (t *Type) Writable() bool { return slices.Contains(t.Methods, "POST") }

// TermFields returns the indexed multi-valued fields.
func (t *Type) TermFields() []query.Field { return t.terms }

// Searched returns the dotted paths of the properties whose words are searched, in
// alphabetical order.
func (t *Type) Searched() []string { return t.searched }

// SearchKey returns the key of the terms of the searched properties, "" if there
// are none. It depends on the properties, so that while they change, objects can
// be found by the words of both sets.
func (t *Type) SearchKey() string { return t.searchKey }

// prepare computes once what every read and write needs.
func (t *Type) prepare() {
	for _, index := range t.Indexes {
		field, shape := t.resolve(strings.Split(index.Property, "."))
		if shape != nil && field.Multiple() {
			field.Term = TermKey(field)
			t.terms = append(t.terms, field)
		}
	}
	for _, name := range t.Search {
		if field, shape := t.resolve(strings.Split(name, ".")); shape != nil {
			t.searched = append(t.searched, TermKey(field))
		}
	}
	readable := map[string]bool{}
	for shape := range t.Shape.All() {
		if shape.Readable != "" {
			readable[shape.Readable] = true
		}
	}
	t.seen = &seen{permissions: slices.Sorted(maps.Keys(readable))}
	t.supplied = t.supplies()
	t.sequences = t.findSequences()
	slices.Sort(t.searched)
	t.searched = slices.Compact(t.searched)
	if len(t.searched) > 0 {
		digest := sha256.Sum256([]byte(strings.Join(t.searched, "\n")))
		// The path of a property never has two consecutive dots.
		t.searchKey = query.SearchKey + ".." + hex.EncodeToString(digest[:8])
	}
}

// ValidID reports whether an object of the type can have the id.
func (t *Type) ValidID(id string) bool { return document.ValidID(id) && !slices.Contains(t.Paths, id) }

// Shows reports whether a returned object can have a value at a dotted path.
// References have id, name and url.
func (t *Type) Shows(name string) bool {
	name = t.StoredPath(name)
	head, rest, dotted := strings.Cut(name, ".")
	reference := func() bool { return !dotted || rest == "id" || rest == "name" || rest == "url" }
	if head == t.IDProperty && head != "" {
		return !dotted
	}
	if CommonField(head) && t.Shape.Properties[head] == nil {
		switch head {
		case "createUser", "updateUser":
			return reference()
		case "network":
			return !t.Global && reference()
		}
		return !dotted
	}
	shape := t.Shape
	for parts := strings.Split(name, "."); len(parts) > 0; parts = parts[1:] {
		if shape.Element != nil {
			shape = shape.Element
		}
		if shape.Ref != nil {
			return len(parts) == 1 && (parts[0] == "id" || parts[0] == "name" || parts[0] == "url")
		}
		if !shape.HasMembers() {
			return false
		}
		if shape = shape.Member(parts[0]); shape == nil || shape.WriteOnly {
			return false
		}
	}
	return true
}

// NetworkOf is the network that records of the type are kept in for callers of a
// network: "" for a global type.
func (t *Type) NetworkOf(network string) string {
	if t.Global {
		return ""
	}
	return network
}
