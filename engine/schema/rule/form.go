package rule

import (
	"slices"

	"cel.dev/cel-go/common/types"

	"marquee/engine/document"
)

type kind int

const (
	anything kind = iota
	boolean
	integer
	number
	text
	instant // a date-time
	day     // a date
	list
	mapping
	object
)

// form is how rules see the values of a shape. It is immutable once its Types are built.
type form struct {
	kind kind
	// cel is the type, and most the number of items, members or characters at most, 0 for
	// no bound.
	cel  *types.Type
	most int
	// element is that of a list or of a map.
	element *form
	// members are the members that rules can read of an object, hidden the reasons why
	// others cannot be read. Required members, and those with defaults, are always set.
	members map[string]*member
	hidden  map[string]string
	// partial reports whether the object can have other members than those.
	partial bool
	// stateful reports whether the object has an objectState.
	stateful bool
}

// member is a member of an object.
type member struct {
	*form
	set   bool
	field *types.FieldType
}

var (
	anyForm    = &form{kind: anything, cel: types.DynType}
	textForm   = &form{kind: text, cel: types.StringType}
	idForm     = &form{kind: text, cel: types.StringType, most: document.MaxIDBytes}
	callerForm = newCallerForm()
)

// stateName is the name of the state of an object, which only roots have.
const stateName = "objectState"

// maxPermissions bounds the permissions of a caller that rules see.
const maxPermissions = 1000

func newCallerForm() *form {
	f := &form{kind: object, cel: types.NewObjectType("object caller"), members: map[string]*member{}}
	f.add("id", idForm, true)
	f.add("permissions", &form{kind: list, cel: types.NewListType(types.StringType), element: idForm, most: maxPermissions}, true)
	return f
}

// Types are the types of the values of one resource type, as its rules see them.
type Types struct {
	forms map[*document.Shape]*form
	named map[string]*form
	root  *document.Shape
	envs  map[*form]*environment
	// refused are the reasons for members that the checker was not shown.
	refused map[string]string
}

// NewTypes returns the types of the values of a resource type.
func NewTypes(root *document.Shape) *Types {
	t := &Types{forms: map[*document.Shape]*form{}, named: map[string]*form{}, root: root, envs: map[*form]*environment{}}
	t.named[callerForm.cel.TypeName()] = callerForm
	t.of(root, "self")
	return t
}

// of returns the form of a shape at a place.
func (t *Types) of(shape *document.Shape, at string) *form {
	if shape == nil || shape == document.AnyShape {
		return anyForm
	}
	if known := t.forms[shape]; known != nil {
		return known
	}
	switch {
	case shape.Ref != nil && shape.Ref.Object:
		return anyForm
	case shape.Ref != nil:
		return idForm
	}
	kinds := shape.Kinds()
	if len(kinds) != 1 {
		return anyForm
	}
	f := &form{}
	t.forms[shape] = f
	switch kinds[0] {
	case "boolean":
		f.kind, f.cel = boolean, types.BoolType
	case "number":
		f.kind, f.cel = integer, types.IntType
		if shape.Is("number") {
			f.kind, f.cel = number, types.DoubleType
		}
	case "string":
		switch f.kind, f.cel, f.most = text, types.StringType, shape.MaxLength; {
		case shape.Format == "date-time":
			f.kind, f.cel = instant, types.TimestampType
		case shape.Format == "date":
			f.kind, f.cel = day, types.TimestampType
		}
	case "array":
		// The items of a list of itself can be anything.
		f.kind, f.cel, f.most = list, types.NewListType(types.DynType), shape.MaxItems
		f.element = t.of(shape.Element, at+"[]")
		f.cel = types.NewListType(f.element.cel)
	case "object":
		t.object(f, shape, at)
	}
	return f
}

// object completes the form of a shape that takes objects.
func (t *Types) object(f *form, shape *document.Shape, at string) {
	if len(shape.Properties) == 0 {
		f.kind, f.cel, f.most = mapping, types.NewMapType(types.StringType, types.DynType), shape.MaxProperties
		f.element = anyForm
		if shape.Matching == nil && shape.Extra != nil {
			f.element = t.of(shape.Extra, at+"{}")
			f.cel = types.NewMapType(types.StringType, f.element.cel)
		}
		return
	}
	name := "object " + at
	for t.named[name] != nil {
		name += "'"
	}
	t.named[name] = f
	f.kind, f.cel = object, types.NewObjectType(name)
	f.members, f.hidden = map[string]*member{}, map[string]string{}
	for property, inner := range shape.Properties {
		if reason := t.unreadable(inner, at+"."+property); reason != "" {
			f.hidden[property] = reason
			continue
		}
		f.add(property, t.of(inner, at+"."+property), inner.HasDefault || slices.Contains(shape.Required, property))
	}
	f.partial = len(f.hidden) > 0 || shape.Extra != nil || len(shape.Matching) > 0
	if shape == t.root && shape.Properties[stateName] == nil {
		f.stateful = true
		f.add(stateName, textForm, true)
	}
}

// unreadable returns why rules cannot read the values of a member, or "".
func (t *Types) unreadable(shape *document.Shape, at string) string {
	switch {
	case shape.Secret:
		return "is secret"
	case shape.WriteOnly:
		return "is writeOnly"
	case shape.Derived:
		return "is derived"
	}
	f := t.of(shape, at)
	for f.kind == list && shape.Element != nil {
		shape = shape.Element
		f = t.of(shape, at+"[]")
	}
	if (f.kind == anything || f.kind == mapping || f.kind == list) && shape.HoldsHidden() {
		return "can have values within it that are secret, writeOnly or derived"
	}
	return ""
}

// add adds a member.
func (f *form) add(name string, value *form, set bool) {
	get := func(target any) (any, error) {
		o, ok := target.(*objectValue)
		if !ok {
			return nil, errNotSet
		}
		v, there := o.get(name)
		if !there {
			return nil, errNotSet
		}
		return value.value(v), nil
	}
	isSet := func(target any) bool {
		o, ok := target.(*objectValue)
		if !ok {
			return false
		}
		_, there := o.get(name)
		return there
	}
	f.members[name] = &member{form: value, set: set, field: &types.FieldType{Type: value.cel, IsSet: isSet, GetFrom: get}}
}
