// Package schema turns a folder of JSON Schemas into resource types: it loads
// and checks the files (docs/schema-vocabulary.md), and compiles each into an
// immutable Type.
package schema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
)

// Type is a compiled resource type. It is immutable.
type Type struct {
	// Name is the path of the type, and its name in references and batches.
	Name, Title, Description, Group string
	// Global types belong to no network.
	Global     bool
	IDRequired bool
	// IDProperty is another name of the id, or "".
	IDProperty string
	// Paths are fixed paths below the type: no object has such an id.
	Paths []string
	// Methods are those that the type supports, OPTIONS aside.
	Methods    []string
	Permission string
	// Label is the property shown as the name in references, or "".
	Label string
	// Parent is the reference whose id stands before that of an object in its
	// path, or "".
	Parent string
	// Paged says whether lists show page and pageSize.
	Paged bool
	// Search, Sort, Unique and Indexes as x-resource has them; Indexes also
	// holds each reference.
	Search, Sort, Unique []string
	Indexes              []Index
	// Team holds the paths to the team or site of an object.
	Team  []string
	Shape *document.Shape

	Frozen   *Frozen
	Compare  []Compare
	Warnings []Warning

	// File is where the type was read, Source the schema.
	File   string
	Source map[string]any

	rules    *rules
	terms    []query.Field
	searched [][]query.Step
}

// Index is a property with an index, and the property that it orders by ("" is
// createTime). Properties are dotted paths.
type Index struct{ Property, Order string }

// Frozen is the x-frozen rule.
type Frozen struct {
	Fault  *message.Definition
	Except []string
	when   *jsonschema.Schema
}

// Compare is one x-compare rule.
type Compare struct {
	Relation
	Fault *message.Definition
}

// Warning is one x-warnings rule.
type Warning struct {
	Message message.Message
	when    *jsonschema.Schema
	unless  []Relation
}

// Matches reports whether a stored object is frozen.
func (f *Frozen) Matches(object map[string]any) bool { return accepts(f.when, object) }

// Matches reports whether an object has earned the warning.
func (w *Warning) Matches(object map[string]any) bool {
	fails := func(r Relation) bool {
		holds, _ := r.Holds(object)
		return !holds
	}
	return accepts(w.when, object) && (len(w.unless) == 0 || slices.ContainsFunc(w.unless, fails))
}

// Writable reports whether the type supports POST and PUT.
func (t *Type) Writable() bool { return slices.Contains(t.Methods, "POST") }

// The common fields of the specification's part 2.1.
var commonFields = map[string]query.Field{
	"id":                 {System: query.ID, Kind: query.String},
	"network":            {System: query.Network, Kind: query.String},
	"objectState":        {System: query.State, Kind: query.String},
	"createTime":         {System: query.CreateTime, Kind: query.Time},
	"updateTime":         {System: query.UpdateTime, Kind: query.Time},
	"createUser":         {System: query.CreateUser, Kind: query.String},
	"updateUser":         {System: query.UpdateUser, Kind: query.String},
	"validationWarnings": {System: query.Warnings, Kind: query.Object},
	"url":                {Kind: query.Object},
}

// CommonField reports whether a name is one of the common fields.
func CommonField(name string) bool {
	_, ok := commonFields[name]
	return ok
}

// Field finds the field that a client names by a dotted path: order.id is the
// same as order. It answers with a *message.Error that names the parameter.
func (t *Type) Field(parameter, name string) (query.Field, error) {
	fault := func(d *message.Definition) error {
		return d.Error(message.Params{"parameter": parameter, "value": name, "type": t.Name})
	}
	head, rest, dotted := strings.Cut(name, ".")
	if head == t.IDProperty && t.IDProperty != "" {
		head = "id"
	}
	if field, ok := commonFields[head]; ok && t.Shape.Properties[head] == nil {
		reference := head == "createUser" || head == "updateUser" || head == "network"
		switch {
		case dotted && (!reference || rest != "id"):
			return query.Field{}, fault(message.FieldUnknown)
		case head == "url":
			return query.Field{}, fault(message.FieldNotQueryable)
		}
		return field, nil
	}
	field, shape := t.resolve(strings.Split(name, "."))
	if shape == nil {
		return query.Field{}, fault(message.FieldUnknown)
	}
	if shape.Secret || shape.WriteOnly || t.derived(name) {
		return query.Field{}, fault(message.FieldNotQueryable)
	}
	if field.Multiple() && t.indexed(field) {
		field.Term = TermKey(field)
	}
	return field, nil
}

// derived reports whether a dotted path leads into what is not stored.
func (t *Type) derived(name string) bool {
	head, _, _ := strings.Cut(name, ".")
	member := t.Shape.Properties[head]
	return member != nil && member.Derived
}

// SortField finds a field that lists can be ordered by.
func (t *Type) SortField(name string) (query.Field, error) {
	field, err := t.Field("orderBy", name)
	if err != nil {
		return field, err
	}
	if field.System == query.NotSystem && !slices.Contains(t.Sort, name) || field.System == query.Warnings {
		return field, message.FieldNotSortable.Error(message.Params{"parameter": "orderBy", "value": name, "type": t.Name})
	}
	return field, nil
}

// TermKey is the key of a multi-valued field's terms: its dotted path.
func TermKey(field query.Field) string {
	names := make([]string, len(field.Path))
	for i, step := range field.Path {
		names[i] = step.Name
	}
	return strings.Join(names, ".")
}

func (t *Type) indexed(field query.Field) bool {
	key := TermKey(field)
	return slices.ContainsFunc(t.Indexes, func(i Index) bool { return i.Property == key })
}

// resolve walks a path through the shape; the shape is nil when there is no
// such field. In free-form objects only plain names can be asked for.
func (t *Type) resolve(names []string) (query.Field, *document.Shape) {
	var field query.Field
	shape := t.Shape
	for i, name := range names {
		if shape.Ref != nil && !shape.Ref.Object {
			if name == "id" && i == len(names)-1 {
				break
			}
			return field, nil
		}
		if !shape.HasMembers() {
			return field, nil
		}
		_, declared := shape.Properties[name]
		if shape = shape.Member(name); shape == nil || !declared && !plainName(name) {
			return field, nil
		}
		field.Open = field.Open || !declared && shape.Ref == nil && len(shape.Types) == 0
		step := query.Step{Name: name}
		if shape.Is("array") {
			step.Array = true
			if shape = shape.Items; shape == nil {
				shape = document.AnyShape
			}
		}
		field.Path = append(field.Path, step)
	}
	field.Kind = kindOf(shape)
	return field, shape
}

func plainName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

func kindOf(shape *document.Shape) query.Kind {
	switch {
	case shape.Ref != nil:
		return query.String
	case shape.Time:
		return query.Time
	case shape.Is("number"), shape.Is("integer"):
		return query.Number
	case shape.Is("boolean"):
		return query.Boolean
	case shape.Is("object"), shape.Is("array"):
		return query.Object
	}
	return query.String
}

// TermFields are the multi-valued fields that have an index.
func (t *Type) TermFields() []query.Field { return t.terms }

// SearchPaths are the paths of the properties whose words are searched.
func (t *Type) SearchPaths() [][]query.Step { return t.searched }

// prepare finds out, once, what reads and writes need again and again.
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
			t.searched = append(t.searched, field.Path)
		}
	}
}

// ValidID reports whether an object of the type can have an id.
func (t *Type) ValidID(id string) bool { return document.ValidID(id) && !slices.Contains(t.Paths, id) }

// Searchable reports whether the type names fields for search.
func (t *Type) Searchable() bool { return len(t.searched) > 0 }

// Shows reports whether a dotted path is one that a returned object can have.
// References have id, name and url.
func (t *Type) Shows(name string) bool {
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
		if shape.Items != nil {
			shape = shape.Items
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
