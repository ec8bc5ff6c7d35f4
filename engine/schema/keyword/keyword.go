// Package keyword is the vocabulary of schemas. Each file declares one keyword: where
// it may be, its part of the meta-schema, how it is checked, what it is compiled to, and
// what the documents of a type say of it. The packages schema and openapi walk the list
// of them and know no keyword by its name, except where the engine itself treats a value
// differently. It imports document, message and rule, and knows neither files nor types.
package keyword

import (
	"cmp"
	"slices"

	"marquee/engine/document"
	"marquee/engine/message"
)

// Position is a set of positions that a value can have in its container.
type Position int

const (
	Root       Position = 1 << iota // the object itself
	Property                        // a declared property of the type
	Nested                          // a declared member of a nested object
	Undeclared                      // a member that is not declared by name
	Item                            // an item of an array
)

// Member is any member of an object.
const Member = Property | Nested | Undeclared

// Keyword is a keyword of the vocabulary. What it has no use for is left out.
type Keyword struct {
	Name string
	// Order is the place in the list: keywords with a lower one are read, checked and
	// shown first. Those after Standard are shown after the keywords of JSON Schema.
	Order int

	// Meta is the meta-schema of the keyword's value, Beside that of a schema with the
	// keyword, and Definitions are the members of $defs that they refer to: JSON texts.
	Meta, Beside, Definitions string

	// Rule compiles a rule of a type, or of the objects within its values that have the
	// keyword. Conditional reports whether rules, or the Parts without a Rule, have a
	// schema when that only tests objects, for keywords of types.
	//
	// Parts calls a function for each rule in the value of a keyword, with its pointer below
	// the keyword; without it, the value is one rule or an array of them.
	Rule        func(Source) *Rule
	Parts       func(value any, visit func(at string, rule map[string]any))
	Conditional bool

	// On are the positions of values that can have the keyword, none for a keyword of
	// types. Cure is the advice for others.
	On   Position
	Cure string
	// Flag returns the field of a shape that a boolean keyword sets. It takes the place
	// of the next three; without either, the value is in Shape.Keywords.
	Flag func(*document.Shape) *bool
	// Read sets in a shape what the value of the keyword means.
	Read func(shape *document.Shape, value any)
	// Adopt adds what the keyword means in another schema of the same value.
	Adopt func(shape, other *document.Shape)
	// Has reports whether the keyword applies to a value.
	Has func(*document.Shape) bool
	// Once reports whether the subschemas of a value must agree on the keyword.
	Once bool
	// Conflict returns why a value cannot have the keyword with its other ones, or "".
	Conflict func(*document.Shape) (text, cure string)
	// Lint checks a value with the keyword against the types of the set.
	Lint func(Value)
	// Check returns the faults of a change of a top-level property with the keyword.
	Check func(Guarded, *Change) []message.Message
	// Supply returns the value that a new object without one gets, nil for none.
	Supply func(*document.Shape, *Creation) any
	// Sample returns a value that the keyword gives, which the schema must accept, if there
	// is one.
	Sample func(*document.Shape) (value any, ok bool)
	// Permissions returns the permissions that the value of the keyword names.
	Permissions func(value any) []string
	// Faults are the messages with which only values with the keyword are refused.
	Faults []*message.Definition

	// Note returns what the page of a type says of a value with the keyword.
	Note func(*document.Shape) []string
	// Section is the section of the page about all values with the keyword or about the
	// rules of the type, an HTML template whose data are a []Entry.
	Section string
	// Table is the sentence of the field tables about values with the keyword.
	Table string
}

// Entry is a value with a keyword, or a rule, on the page of a type.
type Entry struct {
	// Path is the place of the value.
	Path  string
	Shape *document.Shape
	// Code and Text are those of the message of a rule, When is the condition under which
	// it holds, as it is written, and Except lists the properties that it does not concern.
	Code, Text, When string
	Except           []string
	// Properties are those with the same values, and From and To the ends of an interval.
	Properties []string
	From, To   string
}

// Standard is the order of the keywords of JSON Schema that have no file here.
const Standard = 100

var (
	all, values, types []*Keyword
	byName             = map[string]*Keyword{}
)

// Declare adds a keyword to the list. It is called before the first schemas are loaded.
func Declare(k Keyword) *Keyword {
	switch {
	case k.OfType():
	case k.Flag != nil:
		k.ofFlag()
	case k.Has == nil:
		k.ofShape()
	}
	add := func(list []*Keyword) []*Keyword {
		i, _ := slices.BinarySearchFunc(list, &k, func(a, b *Keyword) int { return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name)) })
		return slices.Insert(list, i, &k)
	}
	if all, byName[k.Name] = add(all), &k; k.OfType() {
		types = add(types)
	} else {
		values = add(values)
	}
	return &k
}

// ofFlag derives the missing functions from Flag.
func (k *Keyword) ofFlag() {
	flag := k.Flag
	if k.Read == nil {
		k.Read = func(shape *document.Shape, value any) {
			if on, ok := value.(bool); ok {
				*flag(shape) = on
			}
		}
	}
	if k.Adopt == nil {
		k.Adopt = func(shape, other *document.Shape) { *flag(shape) = *flag(shape) || *flag(other) }
	}
	k.Has = func(shape *document.Shape) bool { return *flag(shape) }
}

// ofShape derives the missing functions for a keyword whose value is in Shape.Keywords.
func (k *Keyword) ofShape() {
	name := k.Name
	if k.Read == nil {
		k.Read = func(shape *document.Shape, value any) { set(shape, name, value) }
	}
	k.Adopt = func(shape, other *document.Shape) {
		if value := other.Keywords[name]; value != nil {
			set(shape, name, value)
		}
	}
	k.Has = func(shape *document.Shape) bool { return shape.Keywords[name] != nil }
}

// set sets the value of a keyword in a shape; false is none.
func set(shape *document.Shape, name string, value any) {
	if shape.Keywords == nil {
		shape.Keywords = map[string]any{}
	}
	if shape.Keywords[name] = value; value == false {
		delete(shape.Keywords, name)
	}
}

// All returns the keywords in their order.
func All() []*Keyword { return all }

// OfValues returns the keywords of values.
func OfValues() []*Keyword { return values }

// OfTypes returns the keywords of types.
func OfTypes() []*Keyword { return types }

// OfType reports whether a keyword is one of types, which is at the root of a file.
func (k *Keyword) OfType() bool { return k.On == 0 }

// Named returns the keyword with a name, or nil.
func Named(name string) *Keyword { return byName[name] }

// says is a note that is always the same.
func says(text string) func(*document.Shape) []string {
	return func(*document.Shape) []string { return []string{text} }
}
