package query

import "slices"

// Kind is the type of a field's values.
type Kind int

// The kinds of values that can be compared.
const (
	String Kind = iota
	Number
	Boolean
	// Time values are strings in document.TimeLayout.
	Time
	// Object values can only be tested for null.
	Object
)

// System identifies a field that a store keeps beside the document.
type System int

// The system fields. NotSystem marks a field of the document.
const (
	NotSystem System = iota
	ID
	Network
	State
	CreateTime
	UpdateTime
	CreateUser
	UpdateUser
	Warnings
)

// Step is one member on the path to a field.
type Step struct {
	Name string
	// Array reports whether the value is an array. A condition holds for an
	// array when it holds for any item.
	Array bool
}

// Field is a field that a query names.
type Field struct {
	System System
	// Path leads to a field of the document.
	Path []Step
	Kind Kind
	// Allowed lists the values of the property's enum; nil when it has none.
	Allowed []any
	// Text converts a string to its stored form; nil leaves it unchanged.
	Text func(string) string
	// Was maps former values, which Text converts and stored objects may still have, to those
	// that take their places.
	Was map[string]string
	// Open marks a field that the schema does not describe. Its value may be of
	// any kind, and arrays on its path are unknown. Only strings compare.
	Open bool
	// Term is the key under which the values of a multi-valued field are kept as
	// terms, so that an index answers an equality; "" when they are not.
	Term string
}

// Multiple reports whether the path crosses an array.
func (f Field) Multiple() bool {
	return slices.ContainsFunc(f.Path, func(step Step) bool { return step.Array })
}
