// Package schema loads and checks folders of JSON Schemas
// (docs/reference/schema-vocabulary.md), and compiles each file to an immutable
// resource type. It imports document, message and query, and neither stores nor
// HTTP. Begin reading with Type, then Load and compile.
package schema

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
)

// Type is a compiled resource type. It is immutable.
type Type struct {
	// Name is the path of the type and its name in references and batches.
	Name, Title, Description, Group string
	// Global reports whether objects of the type belong to no network.
	Global     bool
	IDRequired bool
	// IDProperty is a second name of the id, or "".
	IDProperty string
	// Paths are reserved paths below the type, which are not valid ids.
	Paths []string
	// Methods are the supported methods except OPTIONS.
	Methods    []string
	Permission string
	// Label is the property that references show as the name, or "".
	Label string
	// Parent is the reference whose id precedes that of an object in its path, or
	// "".
	Parent string
	// Paged reports whether lists include page and pageSize.
	Paged bool
	// Search, Sort, Unique and Indexes are those of x-resource. Indexes also
	// includes each reference.
	Search, Sort, Unique []string
	Indexes              []Index
	// UniqueForms are forms in which values are also unique.
	UniqueForms []UniqueForm
	// Team are the paths to the team or site of an object.
	Team  []string
	Shape *document.Shape

	Frozen   *Frozen
	Compare  []Compare
	Warnings []Warning

	// File is the file of the type, Source its content.
	File   string
	Source map[string]any

	rules     *rules
	terms     []query.Field
	searched  []string
	searchKey string

	teamPaths  []TeamPath
	ownerField query.Field
	named      map[string][]string
}

// Index is an index on a property, ordered by another one; "" is createTime.
// Properties are dotted paths.
type Index struct{ Property, Order string }

// Frozen is an x-frozen rule.
type Frozen struct {
	Fault  *message.Definition
	Except []string
	when   *jsonschema.Schema
}

// Compare is an x-compare rule.
type Compare struct {
	Relation
	Fault *message.Definition
}

// Warning is an x-warnings rule.
type Warning struct {
	Message message.Message
	when    *jsonschema.Schema
	unless  []Relation
}

// Matches reports whether a stored object is frozen. The error is that of the
// context.
func (f *Frozen) Matches(ctx context.Context, object map[string]any) (bool, error) {
	return meets(ctx, f.when, object)
}

// meets reports whether an object meets a condition. If that takes too long to
// evaluate, the error is of kind Invalid.
func meets(ctx context.Context, when *jsonschema.Schema, object map[string]any) (bool, error) {
	is, err := accepts(ctx, when, object)
	if errors.Is(err, errTooComplex) {
		err = message.ObjectTooComplex.Error(message.Params{"field": "", "limit": maxLibrarySteps})
	}
	return is, err
}

// Matches reports whether the warning applies to an object. The error is that of
// the context.
func (w *Warning) Matches(ctx context.Context, object map[string]any) (bool, error) {
	fails := func(r Relation) bool {
		holds, _ := r.Holds(object)
		return !holds
	}
	is, err := meets(ctx, w.when, object)
	return is && (len(w.unless) == 0 || slices.ContainsFunc(w.unless, fails)), err
}

// Writable reports whether the type supports POST and PUT.
func (t *Type) Writable() bool { return slices.Contains(t.Methods, "POST") }

// Common fields (specification, part 2.1).
var commonFields = map[string]query.Field{
	"id":                 {System: query.ID, Kind: query.String},
	"network":            {System: query.Network, Kind: query.String},
	"objectState":        {System: query.State, Kind: query.String, Allowed: []any{"ACTIVE", "INACTIVE", "HIDDEN"}},
	"createTime":         {System: query.CreateTime, Kind: query.Time},
	"updateTime":         {System: query.UpdateTime, Kind: query.Time},
	"createUser":         {System: query.CreateUser, Kind: query.String},
	"updateUser":         {System: query.UpdateUser, Kind: query.String},
	"validationWarnings": {System: query.Warnings, Kind: query.Object},
	"url":                {Kind: query.Object},
}

// CommonField reports whether a name is that of a common field.
func CommonField(name string) bool {
	_, ok := commonFields[name]
	return ok
}

// Field returns the field at a dotted path in a request parameter: order.id is the
// same as order. The error is a *message.Error that names the parameter.
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
	field.Allowed, field.Text = t.allowed(field), shape.Text
	return field, nil
}

// allowed returns the values of an enum that applies unconditionally to a field,
// or nil.
func (t *Type) allowed(field query.Field) []any {
	said := unconditional(nil, t.rules.schema)
	for _, step := range field.Path {
		var next []*jsonschema.Schema
		for _, s := range said {
			member := s.Properties[step.Name]
			if member == nil {
				continue
			}
			if !step.Array {
				next = unconditional(next, member)
				continue
			}
			for _, list := range unconditional(nil, member) {
				next = unconditional(next, list.Items2020)
			}
		}
		said = next
	}
	for _, s := range said {
		if s.Enum != nil {
			return scalars(s.Enum)
		}
	}
	return nil
}

// scalars returns the values with which a field can be compared, as they are in
// documents.
func scalars(values []any) []any {
	list := []any{}
	for _, value := range values {
		switch v := value.(type) {
		case json.Number:
			if n, err := v.Int64(); err == nil {
				list = append(list, n)
			} else if n, err := v.Float64(); err == nil {
				list = append(list, document.Number(n))
			}
		case float64:
			list = append(list, document.Number(v))
		case string, bool, int64:
			list = append(list, v)
		}
	}
	return list
}

// unconditional appends a schema to a list, and the schemas that always apply with
// it.
func unconditional(list []*jsonschema.Schema, s *jsonschema.Schema) []*jsonschema.Schema {
	if s == nil || slices.Contains(list, s) {
		return list
	}
	list = unconditional(append(list, s), s.Ref)
	for _, other := range s.AllOf {
		list = unconditional(list, other)
	}
	return list
}

// derived reports whether a dotted path leads to a derived value.
func (t *Type) derived(name string) bool {
	head, _, _ := strings.Cut(name, ".")
	member := t.Shape.Properties[head]
	return member != nil && member.Derived
}

// SortField returns a field by which lists can be ordered.
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

// TermKey returns the key of a multi-valued field's terms: its dotted path.
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

// resolve follows a path through the shape. It returns nil if there is no such
// field. Within free-form objects, only plain names are supported.
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
			if shape = shape.Element; shape == nil {
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
