package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
)

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
	sent := name
	fault := func(d *message.Definition) error {
		return d.Error(message.Params{"parameter": parameter, "value": sent, "type": t.Name})
	}
	name = t.StoredPath(name)
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
	field.Allowed, field.Text, field.Was = t.allowed(field), shape.Text, shape.Was
	return field, nil
}

// allowed returns the values of an enum that applies unconditionally to a field,
// or nil.
func (t *Type) allowed(field query.Field) []any {
	said := unconditional(nil, t.rules.Schema)
	for i, step := range field.Path {
		var next []*jsonschema.Schema
		if i == 0 {
			step.Name = t.ServedName(step.Name)
		}
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

// SortField returns the field with a name, if lists can be ordered by it.
func (t *Type) SortField(name string) (query.Field, error) {
	field, err := t.Field("orderBy", name)
	if err != nil {
		return field, err
	}
	if field.System == query.NotSystem && !slices.Contains(t.Sort, t.StoredPath(name)) || field.System == query.Warnings {
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
		if shape = shape.Member(name); shape == nil || !declared && !document.PlainName(name) {
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
