package rule

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

var errNotSet = errors.New("the property is not set")

// NativeToValue implements types.Adapter for the elements of lists and maps.
func (f *form) NativeToValue(value any) ref.Val { return f.value(value) }

// value returns a value of a document as rules see it, without copying it. One that is not
// of the form is an error, which only an object has that is refused anyway.
func (f *form) value(value any) ref.Val {
	switch v := value.(type) {
	case ref.Val:
		return v
	case nil:
		return types.NullValue
	case string:
		return f.text(v)
	case bool:
		if f.kind == boolean || f.kind == anything {
			return types.Bool(v)
		}
	case int64:
		switch f.kind {
		case number:
			return types.Double(v)
		case integer, anything:
			return types.Int(v)
		}
	case float64:
		switch {
		case f.kind == integer && v == math.Trunc(v) && math.Abs(v) < 1<<63:
			return types.Int(v)
		case f.kind == number, f.kind == anything, f.kind == integer && v == math.Trunc(v):
			return types.Double(v) // an integer that is too large can be compared
		}
	case []any:
		switch f.kind {
		case list:
			return types.NewList[any](f.element, v)
		case anything:
			return types.NewList[any](anyForm, v)
		}
	case map[string]any:
		switch f.kind {
		case object:
			return &objectValue{form: f, members: v}
		case mapping:
			return sortedMap{types.NewStringInterfaceMap(f.element, v), v}
		case anything:
			return sortedMap{types.NewStringInterfaceMap(anyForm, v), v}
		}
	}
	return types.NewErr("a value is not of its type")
}

func (f *form) text(s string) ref.Val {
	var layout string
	switch f.kind {
	case text, anything:
		return types.String(s)
	case instant:
		layout = time.RFC3339Nano
	case day:
		layout = time.DateOnly
	default:
		return types.NewErr("a value is not of its type")
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		return types.NewErr("a value is not in its format")
	}
	return types.Timestamp{Time: t}
}

// root returns an object that has a state.
func (f *form) root(members map[string]any, state string) ref.Val {
	if f.kind == object {
		return &objectValue{form: f, members: members, state: state}
	}
	return f.value(members)
}

// sortedMap is a map whose keys have an order, so that a rule says the same of an object
// each time.
type sortedMap struct {
	traits.Mapper
	members map[string]any
}

// Iterator implements traits.Iterable.
func (m sortedMap) Iterator() traits.Iterator {
	return types.NewStringList(anyForm, slices.Sorted(maps.Keys(m.members))).(traits.Iterable).Iterator()
}

// IsZeroValue implements traits.Zeroer.
func (m sortedMap) IsZeroValue() bool { return len(m.members) == 0 }

// objectValue is an object with declared members.
type objectValue struct {
	form    *form
	members map[string]any
	state   string
}

// get returns the value of a member that rules can read. Null is none.
func (o *objectValue) get(name string) (any, bool) {
	if o.form.stateful && name == stateName {
		return o.state, true
	}
	v := o.members[name]
	return v, v != nil
}

// ConvertToNative implements ref.Val.
func (o *objectValue) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("an object is no %s", t)
}

// ConvertToType implements ref.Val.
func (o *objectValue) ConvertToType(ref.Type) ref.Val {
	return types.NewErr("an object has no other type")
}

// Type implements ref.Val.
func (o *objectValue) Type() ref.Type { return o.form.cel }

// Value implements ref.Val.
func (o *objectValue) Value() any { return o }

// Equal implements ref.Val. Objects are equal if the members that rules can read are.
func (o *objectValue) Equal(other ref.Val) ref.Val {
	p, ok := other.(*objectValue)
	if !ok || o.form != p.form {
		return types.False
	}
	for name, m := range o.form.members {
		x, xset := o.get(name)
		y, yset := p.get(name)
		if xset != yset {
			return types.False
		}
		if xset && types.Equal(m.value(x), m.value(y)) != types.True {
			return types.False
		}
	}
	return types.True
}

// IsSet implements traits.FieldTester, for objects in lists of mixed types.
func (o *objectValue) IsSet(field ref.Val) ref.Val {
	name, _ := field.(types.String)
	if o.form.members[string(name)] == nil {
		return types.NewErr("there is no property %s", name)
	}
	_, set := o.get(string(name))
	return types.Bool(set)
}

// Get implements traits.Indexer, for objects in lists of mixed types.
func (o *objectValue) Get(field ref.Val) ref.Val {
	name, _ := field.(types.String)
	m := o.form.members[string(name)]
	if m == nil {
		return types.NewErr("there is no property %s", name)
	}
	v, set := o.get(string(name))
	if !set {
		return types.WrapErr(errNotSet)
	}
	return m.value(v)
}

// nodes counts the values within a value, at most until it exceeds a limit.
func nodes(v any, limit int) int {
	n := 1
	each := func(inner any) bool {
		n += nodes(inner, limit-n)
		return n <= limit
	}
	switch x := v.(type) {
	case string:
		n += len(x) / charactersPerStep
	case types.String:
		n += len(x) / charactersPerStep
	case []any:
		for _, item := range x {
			if !each(item) {
				break
			}
		}
	case map[string]any:
		for _, member := range x {
			if !each(member) {
				break
			}
		}
	case *objectValue:
		return nodes(x.members, limit)
	case []ref.Val:
		for _, item := range x {
			if !each(item) {
				break
			}
		}
	case map[ref.Val]ref.Val:
		for key, member := range x {
			if !each(key) || !each(member) {
				break
			}
		}
	case ref.Val:
		inner := x.Value()
		if _, again := inner.(ref.Val); !again {
			return nodes(inner, limit)
		}
	}
	return n
}
