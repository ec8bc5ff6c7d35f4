package keyword

import (
	"slices"
	"time"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema/rule"
)

// Type is a type whose schema is checked, or one that it refers to.
type Type struct {
	Name   string
	Global bool
	// Removable reports whether objects of the type can be removed.
	Removable bool
	Shape     *document.Shape
	// Source is the content of its file.
	Source map[string]any
	// Common reports whether a name is that of a common field.
	Common func(name string) bool
	// Uncertain reports whether the value at a dotted path cannot be judged, because a
	// fault was left out there. Omitted reports the same of a pointer in the file.
	Uncertain func(path string) bool
	Omitted   func(pointer string) bool
	// Other finds another type of the set. It reports false if the type may be in a file
	// that could not be compiled.
	Other func(name string) (t *Type, certain bool)
}

// hasValue reports whether a value is in the enum of a property, or the property itself
// has none.
func (t *Type) hasValue(property, value string) bool {
	properties, _ := t.Source["properties"].(map[string]any)
	member, _ := properties[property].(map[string]any)
	enum, limited := member["enum"].([]any)
	return !limited || slices.Contains(enum, any(value))
}

// declares reports whether roles can hold a permission, or whether that is not known.
func (t *Type) declares(permission string) bool {
	roles, _ := t.Other("roles")
	if roles == nil {
		return true
	}
	permissions, listed := document.Lookup(roles.Source, "/properties/permissions/items/enum").([]any)
	return !listed || permission != AllPermissions && slices.Contains(permissions, any(permission))
}

// Value is a value with a keyword whose schema is checked.
type Value struct {
	Type *Type
	// Name is that of a declared property or member, "" for other values.
	Name  string
	Shape *document.Shape
	// Problem reports a problem at a pointer below the keyword.
	Problem func(below, text, cure string)
}

// Change is a change of an object, as its type's rules judge it.
type Change struct {
	// Before is the stored object, nil if there is none, and After the new one.
	Before, After map[string]any
	// StateBefore and State are the values of objectState.
	StateBefore, State string
	// Unreadable are the pointers to new values that cannot be compared, because they are
	// not of the type or in the format of their property.
	Unreadable []string
	// Faulty are the pointers to new values that the schema refuses, or beside which it
	// misses one.
	Faulty []string
	// Lacked are the pointers to required values that the stored object lacks because it
	// was erased.
	Lacked []string
	// Now is the time of the write, and Caller is who writes; nil is nobody.
	Now    time.Time
	Caller func() rule.Caller
	// Budget limits what the rules of a call cost; nil is no limit.
	Budget *rule.Budget
	// Parent is the property whose object's path the object's path is below, or "".
	Parent string
	// System reports whether the service itself or an import writes the object.
	System bool
	// Kept are the faults that the stored object has, too.
	Kept []message.Message

	input *rule.Input
}

// ruleInput returns what the rules of the object are evaluated for.
func (c *Change) ruleInput() *rule.Input {
	if c.input == nil {
		c.input = &rule.Input{Self: c.After, OldSelf: c.Before, State: c.State, OldState: c.StateBefore, Now: c.Now, Caller: c.Caller, Budget: c.Budget}
	}
	return c.input
}

// Guarded is a top-level property that changes are checked for.
type Guarded struct {
	Name  string
	Shape *document.Shape
}

// of returns the values of a property that was set and has another value now, or none.
func (c *Change) of(name string) (from, to any, changed bool) {
	from, was := c.Before[name]
	to = c.After[name]
	return from, to, was && !document.Equal(from, to)
}

// keeps reports whether top-level properties are those of the stored object.
func (c *Change) keeps(names ...string) bool {
	return c.Before != nil && !slices.ContainsFunc(names, func(name string) bool {
		was, had := c.Before[name]
		is, has := c.After[name]
		return had != has || !document.Equal(was, is)
	})
}

// fillsIn reports whether a property differs from the stored one in personal values alone,
// of which the stored one has none, because the object was erased.
func (c *Change) fillsIn(name string, shape *document.Shape) bool {
	if c.StateBefore != "HIDDEN" || shape == nil || !shape.HasPersonal {
		return false
	}
	if before := c.Before[name]; before == nil || shape.Personal {
		return before == nil
	}
	before, after := document.Clone(c.Before[name]), document.Clone(c.After[name])
	if shape.Erase(before) {
		return false
	}
	shape.Erase(after)
	return document.Equal(before, after)
}

// isUnreadable reports whether the new value of a property cannot be compared.
func (c *Change) isUnreadable(name string) bool { return slices.Contains(c.Unreadable, "/"+name) }

// fault is a fault of the value at a pointer.
func fault(d *message.Definition, field string, params message.Params) []message.Message {
	if params == nil {
		params = message.Params{}
	}
	params["field"] = field
	return []message.Message{d.With(params)}
}
